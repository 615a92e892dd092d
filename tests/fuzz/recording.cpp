// SPDX-License-Identifier: MIT
// A recording whose one segment is the input.
#include <cstdint>
#include <cstdlib>

#include "recording/reader.h"
#include "tests/fuzz/input_files.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stallprof;
  if (size == 0) return 0;
  const std::string& directory = testing::recordingOf(data, size);
  Strings strings;
  std::size_t events = 0;
  const auto summary = readRecording(directory, strings, [&](const Event&) { ++events; });
  // An event takes at least two bytes of input; a Loss stands for at least one.
  if (summary.ok() && events > 2 * size + 8) std::abort();
  return 0;
}
