# Included by the top CMakeLists.txt: the built-in rules become a source of `classify`.
file(GLOB rule_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/classify/rules/*.toml)
set(built_in_rules ${CMAKE_BINARY_DIR}/generated/built_in_rules.cpp)
set(embed_rules ${CMAKE_SOURCE_DIR}/src/classify/embed_rules.cmake)
add_custom_command(
  OUTPUT ${built_in_rules}
  COMMAND ${CMAKE_COMMAND} "-DRULES=${rule_files}" -DOUT=${built_in_rules} -P ${embed_rules}
  DEPENDS ${rule_files} ${embed_rules}
  VERBATIM)
target_sources(classify PRIVATE ${built_in_rules})
