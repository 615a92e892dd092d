// SPDX-License-Identifier: MIT
// manifest.json; what is read is written and read again without change.
#include "recording/manifest.h"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stallprof;
  const auto manifest = manifestFromJson({reinterpret_cast<const char*>(data), size});
  if (!manifest.ok()) return 0;
  const std::string json = manifestToJson(manifest.value());
  const auto again = manifestFromJson(json);
  if (!again.ok() || manifestToJson(again.value()) != json) std::abort();
  return 0;
}
