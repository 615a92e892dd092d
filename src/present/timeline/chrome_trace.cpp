// SPDX-License-Identifier: MIT
#include "present/timeline/chrome_trace.h"

#include <set>

namespace stallprof {
namespace {

class ChromeSink final : public TraceSink {
 public:
  ChromeSink(ByteStream& out, Nanos begin) : out_(out), begin_(begin) {}

  void lane(const TraceLane& lane) override {
    nameProcess(lane);
    const std::string where =
        ",\"pid\":" + std::to_string(lane.pid) + ",\"tid\":" + std::to_string(lane.tid);
    meta("thread_name", where, "\"name\":" + jsonText(lane.name));
    meta("thread_sort_index", where, "\"sort_index\":" + std::to_string(lane.order));
  }

  void slice(const TraceLane& lane, const TraceSlice& slice) override {
    line() << "{\"ph\":\"X\",\"cat\":\"" << categoryOf(slice.kind)
           << "\",\"name\":" << jsonText(slice.name, 200) << ",\"pid\":" << std::to_string(lane.pid)
           << ",\"tid\":" << std::to_string(lane.tid)
           << ",\"ts\":" << jsonMicros(slice.begin - begin_)
           << ",\"dur\":" << jsonMicros(slice.end - slice.begin) << ",\"args\":" << jsonArgs(slice)
           << "}";
    if (slice.flow == 0) return;
    line() << "{\"ph\":\"" << (slice.flowEnds ? "f\",\"bp\":\"e" : "s")
           << "\",\"cat\":\"batch\",\"name\":\"batch\",\"id\":" << std::to_string(slice.flow)
           << ",\"pid\":" << std::to_string(lane.pid) << ",\"tid\":" << std::to_string(lane.tid)
           << ",\"ts\":" << jsonMicros(slice.flowAt - begin_) << "}";
  }

  void counter(const TraceLane& lane, std::string_view name, std::string_view unit, Nanos at,
               double value) override {
    nameProcess(lane);
    line() << "{\"ph\":\"C\",\"cat\":\"counter\",\"name\":" << jsonText(name)
           << ",\"pid\":" << std::to_string(lane.pid) << ",\"ts\":" << jsonMicros(at - begin_)
           << ",\"args\":{" << jsonText(unit) << ":" << jsonNumber(value) << "}}";
  }

 private:
  ByteStream& line() {
    out_ << (first_ ? "\n" : ",\n");
    first_ = false;
    return out_;
  }
  void meta(std::string_view name, const std::string& where, const std::string& arg) {
    line() << "{\"ph\":\"M\",\"name\":\"" << name << "\"" << where << ",\"args\":{" << arg << "}}";
  }
  void nameProcess(const TraceLane& lane) {
    if (!named_.insert(lane.pid).second) return;
    const std::string where = ",\"pid\":" + std::to_string(lane.pid);
    meta("process_name", where, "\"name\":" + jsonText(lane.process));
    meta("process_sort_index", where, "\"sort_index\":" + std::to_string(lane.processOrder));
  }

  ByteStream& out_;
  Nanos begin_;
  bool first_ = true;
  std::set<std::int64_t> named_;
};

}  // namespace

Nanos realtimeOfBegin(const Trace& trace) {
  if (!trace.clocks.empty())
    return trace.clocks.front().data.realtime - (trace.clocks.front().at - trace.begin);
  return trace.manifest.startedRealtime - (trace.manifest.startedMonotonic - trace.begin);
}

std::string summaryJson(const TimelineSummary& summary) {
  std::string detail;
  for (const std::string& word : summary.detail)
    detail += (detail.empty() ? "" : ",") + jsonText(word);
  return "{\"whole\":" + std::string(summary.whole ? "true" : "false") + ",\"detail\":[" + detail +
         "],\"slices\":" + std::to_string(summary.slices) +
         ",\"merged\":" + std::to_string(summary.merged) +
         ",\"cut\":" + std::to_string(summary.cut) +
         ",\"cut_rule\":\"a slice that outlasts the one it began in on its lane is cut at that "
         "one's end; cut_ns says by how much\"}";
}

TraceWritten writeChromeTrace(const Trace& trace, const Analyzed& analyzed,
                              const TimelineOptions& options, const WriteBytes& write) {
  ByteStream out(write);
  out << "{\n\"displayTimeUnit\": \"ns\",\n\"baseTimeNanoseconds\": "
      << std::to_string(realtimeOfBegin(trace).count()) << ",\n\"traceEvents\": [";
  ChromeSink sink(out, trace.begin);
  TraceWritten written;
  written.summary = drawTimeline(trace, analyzed, options, sink);
  out << "\n],\n\"stallprof\": " << summaryJson(written.summary) << "\n}\n";
  written.ok = out.flush();
  written.bytes = out.bytes();
  return written;
}

}  // namespace stallprof
