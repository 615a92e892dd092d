// SPDX-License-Identifier: MIT
#include "trace/load.h"

#include <utility>

#include "recording/reader.h"
#include "trace/trace_builder.h"

namespace stallprof {

Result<Trace> loadTrace(const std::string& directory, const std::vector<Untrusted>& maps) {
  TraceBuilder builder;
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
