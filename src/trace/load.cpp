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

void give(TraceBuilder& builder, Manifest manifest, const std::vector<Untrusted>& maps) {
  manifest.maps.insert(manifest.maps.end(), maps.begin(), maps.end());
  builder.manifest() = std::move(manifest);
}

}  // namespace

Result<Trace> loadTrace(const std::string& directory, const std::vector<Untrusted>& maps,
                        const TraceBounds& bounds, const PartReader& reader) {
  ::mallopt(M_MMAP_THRESHOLD, kGivenBack);
  // Parts are read by what the run says of itself; where that is damaged it is read as a whole.
  Result<Manifest> ahead = readManifest(directory);
  TraceBuilder builder(bounds, ahead.ok() ? reader : PartReader());
  if (ahead.ok()) give(builder, std::move(ahead).value(), maps);
  Result<ReadSummary> read =
      readRecording(directory, builder.strings(), [&](const Event& event) { builder.take(event); });
  if (!read.ok()) return std::move(read).error();
  give(builder, std::move(read.value().manifest), maps);
  builder.setCleanEnd(read.value().cleanEnd);
  return builder.seal();
}

}  // namespace stallprof
