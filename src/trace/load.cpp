// SPDX-License-Identifier: MIT
#include "trace/load.h"

#include <malloc.h>

#include <utility>

#include "recording/reader.h"
#include "trace/trace_builder.h"

namespace stallprof {
namespace {

// A table outgrown is given back at once; glibc's own limit for that would rise with the tables. A
// fifth less memory for a run of ten hours (scripts/bench_export).
constexpr int kGivenBack = 1 << 20;

}  // namespace

Result<Trace> loadTrace(const std::string& directory, const std::vector<Untrusted>& maps,
                        const TraceBounds& bounds) {
  ::mallopt(M_MMAP_THRESHOLD, kGivenBack);
  TraceBuilder builder(bounds);
  Result<ReadSummary> read =
      readRecording(directory, builder.strings(), [&](const Event& event) { builder.take(event); });
  if (!read.ok()) return std::move(read).error();
  builder.manifest() = std::move(read.value().manifest);
  std::vector<Untrusted>& all = builder.manifest().maps;
  all.insert(all.end(), maps.begin(), maps.end());
  builder.setCleanEnd(read.value().cleanEnd);
  return builder.seal();
}

}  // namespace stallprof
