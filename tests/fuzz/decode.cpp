// SPDX-License-Identifier: MIT
// The payload of an events frame, as if its checksum held.
#include <cstdint>
#include <cstdlib>

#include "recording/format/segment_decoder.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stallprof;
  Strings strings;
  std::size_t events = 0;
  const std::function<void(const Event&)> take = [&](const Event&) { ++events; };
  Decoder decoder(strings, take);
  decoder.beginSegment(size);
  const Decoder::Lost lost = decoder.frame({data, size});
  if (2 * (events + lost.damaged + lost.unknownKinds) > size + 1) std::abort();
  return 0;
}
