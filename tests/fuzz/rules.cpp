// SPDX-License-Identifier: MIT
// Phase rules of the user's own. An error is one line that names the file.
#include <cstdint>
#include <cstdlib>

#include "classify/rule_table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stallprof;
  const auto rules = RuleTable::withUsers({reinterpret_cast<const char*>(data), size}, "own.toml");
  if (!rules.ok() && (rules.error().message.find('\n') != std::string::npos ||
                      rules.error().message.find("own.toml") == std::string::npos))
    std::abort();
  return 0;
}
