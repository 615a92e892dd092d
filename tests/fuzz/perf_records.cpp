// SPDX-License-Identifier: MIT
// The records of a perf ring (samples, MMAP2, FORK, EXIT, COMM, LOST), and the mappings they make:
// the input is a ring's bytes.
#include "sampler/perf_rings/perf_records.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "sampler/perf/native_maps.h"
#include "tests/fuzz/event_counter.h"

using namespace stallprof;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::span<const std::uint8_t> bytes(data, size);
  NativeMaps maps;
  EventCounter out;
  while (bytes.size() >= 8) {
    const std::size_t one = std::min<std::size_t>(bytes[6] | bytes[7] << 8, bytes.size());
    if (one < 8) break;
    if (const auto record = readPerfRecord(bytes.first(one))) {
      if (record->path.size() > one || record->build.size() > 40) std::abort();
      maps.take(*record, out);
      (void)maps.find(record->pid, record->address);
    }
    bytes = bytes.subspan(one);
  }
  return 0;
}
