# Included by the top CMakeLists.txt: the built-in rules become a source of `classify`.
file(GLOB rule_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/classify/rules/*.toml)
stallprof_embed(classify "${rule_files}" ${CMAKE_SOURCE_DIR}/src/classify/rules
  classify/rule_table.h RuleFile builtInRuleFiles)
