// SPDX-License-Identifier: MIT
// A gate's policy. An error is one line that names the file.
#include "gate/policy.h"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stallprof;
  const auto policy =
      parsePolicy({reinterpret_cast<const char*>(data), size}, "policy.toml", "2026-11-23");
  if (!policy.ok() && (policy.error().message.find('\n') != std::string::npos ||
                       policy.error().message.find("policy.toml") == std::string::npos))
    std::abort();
  return 0;
}
