// SPDX-License-Identifier: MIT
#include "present/timeline/chrome_trace_timeline.h"

#include <algorithm>
#include <array>

#include "present/timeline/chrome_trace_detail.h"
#include "present/timeline/chrome_trace_lanes.h"

namespace stallprof {
namespace {

constexpr std::size_t kKinds = 14;
constexpr std::array<std::string_view, kKinds> kTotals = {
    "",         "steps",     "iterators_ns", "next_ns",  "index_wait_ns", "make_ns", "send_ns",
    "spans_ns", "ranges_ns", "optimizer_ns", "calls_ns", "busy_ns",       "work_ns", "gc_ns"};
constexpr std::array<std::string_view, kKinds> kMany = {
    "slices", "steps",  "iterators",       "fetches", "waits",          "batches", "batches",
    "spans",  "ranges", "optimizer steps", "calls",   "busy intervals", "works",   "collections"};

// Many slices of a lane as one.
struct Merged {
  Nanos begin{}, end{};
  std::uint64_t all = 0;
  std::array<std::uint64_t, kKinds> count{};
  std::array<Nanos, kKinds> time{};
  std::uint32_t firstStep = 0, lastStep = 0;

  void add(const SliceRef& ref, std::uint32_t step) {
    const auto kind = static_cast<std::size_t>(ref.kind);
    if (all++ == 0) {
      begin = ref.begin;
      end = ref.end;
    }
    end = std::max(end, ref.end);
    if (ref.kind == SliceKind::kStep) {
      if (count[kind] == 0) firstStep = step;
      lastStep = step;
    }
    ++count[kind];
    time[kind] += ref.end - ref.begin;
  }

  void write(TraceSlice& slice) const {
    slice = {};
    slice.kind = SliceKind::kMerged;
    slice.begin = begin;
    slice.end = end;
    constexpr auto kStep = static_cast<std::size_t>(SliceKind::kStep);
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      if (count[kind] == 0) continue;
      const bool steps = kind == kStep;
      if (steps)
        slice.name = "steps " + std::to_string(firstStep) + " to " + std::to_string(lastStep);
      else if (slice.name.empty() && kind != static_cast<std::size_t>(SliceKind::kIndexWait))
        slice.name = std::to_string(count[kind]) + " " + std::string(kMany[kind]);
      slice.args.push_back({kTotals[kind], steps ? static_cast<std::int64_t>(count[kind])
                                                 : std::int64_t{time[kind].count()}});
    }
    if (slice.name.empty()) slice.name = std::to_string(all) + " waits";
  }
};

// Writes one lane so that it nests: a slice that outlasts the one it began in is cut at its end.
class LaneWriter {
 public:
  LaneWriter(const TraceLane& lane, const TimelineDetail& detail, Nanos begin, TraceSink& sink,
             TimelineSummary& summary)
      : lane_(lane), detail_(detail), begin_(begin), sink_(sink), summary_(summary) {}

  void take(const SliceRef& ref, const SliceWriter& sliceWriter, const BatchFlows& flows) {
    leave(ref.begin);
    if (!drawn({ref.begin, ref.end})) {
      summary_.whole = false;
      if (!detail_.only) merge(ref, sliceWriter.stepOf(ref));
      return;
    }
    if (merged_.all > 0)  // what is merged is a sum: its end may move, the drawn one's begin not
      merged_.end = std::max(merged_.begin, std::min(merged_.end, ref.begin));
    flush();
    sliceWriter.write(ref, flows, slice_);
    if (slice_.flow != 0 && !(drawn(flows.making(slice_.flow)) && drawn(flows.taking(slice_.flow))))
      slice_.flow = 0;
    summary_.steps += ref.kind == SliceKind::kStep ? 1 : 0;
    write();
    open_.push_back(slice_.end);
  }
  void finish() { flush(); }

 private:
  // Slice by slice, not merged.
  bool drawn(const Interval& i) const {
    if (detail_.whole) return true;
    const Nanos length = std::max(i.end - i.begin, Nanos(1));
    if (detail_.only) return lengthIn(detail_.intervals, {i.begin, i.begin + length}) >= length;
    return length >= detail_.longest || detail_.within(i.begin, i.end);
  }
  // What ended by then is no longer around; a merged slice must not outlast it.
  void leave(Nanos now) {
    if (!open_.empty() && open_.back() <= now) flush();
    while (!open_.empty() && open_.back() <= now) open_.pop_back();
  }
  Nanos::rep bin(Nanos at) const { return (at - begin_) / std::max(detail_.bin, Nanos(1)); }
  void merge(const SliceRef& ref, std::uint32_t step) {
    ++summary_.merged;
    const bool apart = merged_.all > 0 && ref.begin >= merged_.end &&
                       (bin(ref.begin) != bin(merged_.begin) ||
                        (!detail_.intervals.empty() && detail_.within(merged_.end, ref.begin)));
    if (apart) flush();
    merged_.add(ref, step);
  }
  void flush() {
    if (merged_.all == 0) return;
    merged_.write(slice_);
    merged_ = {};
    write();
  }
  void write() {
    const Nanos limit = open_.empty() ? Nanos::max() : open_.back();
    if (slice_.end > limit) {
      if (slice_.kind != SliceKind::kMerged) ++summary_.cut;
      slice_.cut = slice_.end - limit;
      slice_.end = limit;
    }
    slice_.end = std::max(slice_.end, slice_.begin);
    if (slice_.flow != 0) slice_.flowAt = std::clamp(slice_.flowAt, slice_.begin, slice_.end);
    ++summary_.slices;
    sink_.slice(lane_, slice_);
  }

  const TraceLane& lane_;
  const TimelineDetail& detail_;
  Nanos begin_;
  TraceSink& sink_;
  TimelineSummary& summary_;
  std::vector<Nanos> open_;  // ends of what is around
  Merged merged_;
  TraceSlice slice_;
};

}  // namespace

TimelineSummary drawTimeline(const Trace& trace, const Analyzed& analyzed,
                             const TimelineOptions& options, TraceSink& sink) {
  const TimelineLanes lanes = layLanes(trace, analyzed, options);
  const TrainerFacts none;
  const TrainerFacts* first = &none;
  for (const TrainerFacts& trainer : lanes.trainers)
    if (first == &none || trainer.process == analyzed.trainer.process) first = &trainer;
  const TimelineDetail detail =
      chooseDetail(trace, *first, options, lanes.slices, lanes.lanes.size());
  TimelineSummary summary;
  summary.whole = detail.whole;
  summary.detail = detail.words;
  const BatchFlows flows(trace);
  const SliceWriter sliceWriter(trace, lanes);
  for (const LaneDraft& draft : lanes.lanes) {
    sink.lane(draft.lane);
    LaneWriter writer(draft.lane, detail, trace.begin, sink, summary);
    for (const SliceRef& ref : draft.refs) writer.take(ref, sliceWriter, flows);
    writer.finish();
  }
  summary.counters = drawCounters(trace, lanes, detail.whole, sink);
  return summary;
}

}  // namespace stallprof
