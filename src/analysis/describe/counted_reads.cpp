// SPDX-License-Identifier: MIT
#include "analysis/describe/counted_reads.h"

#include <map>
#include <string_view>

#include "event/file_systems.h"

namespace stallprof {

bool waitsAreCounted(const Trace& trace, const WhichProcesses& makers, Nanos begin, Nanos end) {
  double all = 0, uncounted = 0;
  for (const auto& row : trace.files) {
    if (row.at < begin || row.at >= end || !makers(trace.process(row.data.process))) continue;
    const std::string_view type = trace.text(row.data.fsType);
    all += row.data.waits;
    if (!type.empty() && !countsStorageReads(type)) uncounted += row.data.waits;
  }
  for (const ThreadLife& thread : trace.threads) {
    if (!makers(trace.process(thread.process))) continue;
    for (const auto& slice : thread.slices) {
      if (slice.at < begin || slice.at >= end || slice.data.wait != Wait::kSocket) continue;
      all += slice.data.samples;
      uncounted += slice.data.samples;
    }
  }
  return uncounted <= kSomeReads * all;
}

Maybe<double> sizesWaitedFor(const Trace& trace, const WhichProcesses& makers) {
  std::map<StringId, double> sizes;
  for (const auto& row : trace.files)
    if (row.data.waits > 0 && row.data.size > 0 && makers(trace.process(row.data.process)))
      sizes[row.data.path] = static_cast<double>(row.data.size);
  Maybe<double> sum;
  for (const auto& [path, size] : sizes) sum = sum.value_or(0) + size;
  return sum;
}

}  // namespace stallprof
