// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string_view>

#include "analysis/blame/samples/producer_threads.h"
#include "event/sampled_events.h"

namespace stallprof {
namespace {

// A thread that does get-nexts may read, sleep or page inside one: the slice then has that wait and
// not the get-next. A wait for a lock may have any cause, and shows nothing.
bool worksAt(Wait wait) {
  switch (wait) {
    case Wait::kFileRead:
    case Wait::kFileMeta:
    case Wait::kPageFault:
    case Wait::kSocket:
    case Wait::kPipe:
    case Wait::kPoll:
    case Wait::kEventLoop:
    case Wait::kSleep:
    case Wait::kChild:
      return true;
    default:
      return false;
  }
}

// A sample is an instant; a slice holds the time before each of its samples (ThreadSlice). Here
// each sample is put into the middle of the time that is its weight.
Interval around(const Timed<ThreadSlice>& slice) {
  const Nanos half = slice.data.duration / (2 * std::max(1u, slice.data.samples));
  return {slice.at + half, slice.end() + half};
}

// Whether its source said that it sees all; a recording without a word of it is believed where
// calls could be seen.
bool sees(const Trace& trace) {
  bool sees = true;
  for (const auto& row : trace.sources) {
    const std::string_view name = trace.text(row.data.source);
    if (name == "thread_syscall" || name == "tfdata_get_next")
      sees = row.data.state == Coverage::kFull;
  }
  return sees;
}

}  // namespace

bool runsTensorFlow(const Trace& trace, ProcessId process) {
  return std::any_of(trace.frameworks.begin(), trace.frameworks.end(), [&](const auto& row) {
    return row.data.process == process && trace.text(row.data.name) == "tensorflow";
  });
}

GetNexts::GetNexts(const Trace& trace, ProcessId process) {
  Intervals all;
  for (const ThreadId id : trace.process(process).threads) {
    const ThreadLife& thread = trace.thread(id);
    const auto named = [&](const Timed<ThreadSlice>& s) {
      return trace.text(s.data.what) == kInGetNext;
    };
    if (std::none_of(thread.slices.begin(), thread.slices.end(), named)) continue;
    for (const Timed<ThreadSlice>& slice : thread.slices)
      if (slice.data.samples > 0 && (named(slice) || worksAt(slice.data.wait)))
        all.push_back(around(slice));
  }
  underWay_ = joined(std::move(all));
  blind_ = underWay_.empty() && runsTensorFlow(trace, process) && !sees(trace);
}

bool GetNexts::at(Nanos t) const { return containsAny(underWay_, t) && !containsAny(hidden_, t); }

void GetNexts::leaveOut(const Intervals& busy) { hidden_ = busy; }

}  // namespace stallprof
