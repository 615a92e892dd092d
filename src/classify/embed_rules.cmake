# cmake -DRULES=a.toml;b.toml -DOUT=built_in_rules.cpp -P embed_rules.cmake
# The rule files as one source, so that the installed program needs no files beside it.
set(text "// Made from src/classify/rules/*.toml by embed_rules.cmake.\n")
string(APPEND text "#include \"classify/rule_table.h\"\n\nnamespace stallprof {\n")
string(APPEND text "namespace {\nconstexpr RuleFile kFiles[] = {\n")
foreach(file ${RULES})
  get_filename_component(name ${file} NAME)
  file(READ ${file} content)
  string(APPEND text "{\"${name}\", R\"RULES(${content})RULES\"},\n")
endforeach()
string(APPEND text "};\n}  // namespace\n\n")
string(APPEND text "std::span<const RuleFile> builtInRuleFiles() { return kFiles; }\n\n")
string(APPEND text "}  // namespace stallprof\n")
file(WRITE ${OUT} "${text}")
