# stallprof_embed(TARGET FILES ROOT HEADER ROW FUNCTION): text files as one source of a target, so that
# the installed program needs no files beside it. FUNCTION returns a span of ROW, each the name of a
# file below ROOT and its content; HEADER declares both. Done when CMake runs, which it does again
# where a file has changed.
function(stallprof_embed target files root header row function)
  set(text "// Made by scripts/embed_text.cmake.\n#include \"${header}\"\n\nnamespace stallprof {\n")
  string(APPEND text "namespace {\nconstexpr ${row} kFiles[] = {\n")
  foreach(file ${files})
    file(RELATIVE_PATH name ${root} ${file})
    file(READ ${file} content)
    string(APPEND text "{\"${name}\", R\"TEXT(${content})TEXT\"},\n")
  endforeach()
  string(APPEND text "};\n}  // namespace\n\nstd::span<const ${row}> ${function}() { return kFiles; }\n\n}  // namespace stallprof\n")
  set(out ${CMAKE_BINARY_DIR}/generated/${function}.cpp)
  set(old "")
  if(EXISTS ${out})
    file(READ ${out} old)
  endif()
  if(NOT old STREQUAL text)
    file(WRITE ${out} "${text}")
  endif()
  set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
  target_sources(${target} PRIVATE ${out})
endfunction()
