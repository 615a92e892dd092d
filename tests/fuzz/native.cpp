// SPDX-License-Identifier: MIT
// Text that names native code: the input's first byte says what is tried, the text of
// /proc/PID/maps as its two readers take it, or names of files and symbols.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "classify/native_class.h"
#include "sampler/perf/native_maps.h"
#include "sampler/python/runtime/runtime_locator.h"
#include "tests/fuzz/event_counter.h"

namespace {

using namespace stallprof;

void takeMaps(std::string_view text) {
  NativeMaps maps;
  EventCounter out;
  maps.takeMaps(1, text, out);
  for (std::uint64_t address = 0; address < 1u << 20; address += 1u << 14)
    (void)maps.find(1, address);
  for (const python::Mapping& mapping : python::parseMaps(text))
    (void)python::minorOfName(mapping.path);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  if (data[0] % 4 == 1)
    takeMaps(text);
  else
    (void)nativeClass(text, readableSymbol(text));
  return 0;
}
