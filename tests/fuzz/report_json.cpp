// SPDX-License-Identifier: MIT
// A report in JSON, as the gate and compare read it, and the index of a baseline.
#include <cstdint>

#include "gate/run.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stallprof;
  const std::string json(reinterpret_cast<const char*>(data), size);
  (void)readGateRun("report.json", json);
  (void)readBaselineIndex(json);
  return 0;
}
