# Included by tools/CMakeLists.txt: `cpack -G DEB` makes the Debian package, `cpack -G TGZ` the
# same tree as an archive. scripts/package builds what is handed to others, from the preset
# `package`: libstdc++ and fmt linked in, so that glibc 2.34 and libgcc_s are all it asks for.
foreach(file LICENSE README.md CHANGELOG.md tools/package/copyright)
  install(FILES ${CMAKE_SOURCE_DIR}/${file} DESTINATION share/doc/stallprof)
endforeach()
install(DIRECTORY ${CMAKE_SOURCE_DIR}/tools/stallprof/guide DESTINATION share/doc/stallprof
  FILES_MATCHING PATTERN "*.md")

set(CPACK_PACKAGE_NAME stallprof)
set(CPACK_PACKAGE_VENDOR "stallprof")
set(CPACK_PACKAGE_CONTACT "The stallprof authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Finds why a training run is slow")
set(CPACK_PACKAGE_DESCRIPTION
  "stallprof runs any training command unchanged, watches it and everything it starts, and ends
with a ranked answer: where each step's time went (extract, transform, load, compute), what
holds the pipeline back, what each fix would gain, and how to check it.")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS python3)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  ${CMAKE_SOURCE_DIR}/tools/package/postinst ${CMAKE_SOURCE_DIR}/tools/package/prerm)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
