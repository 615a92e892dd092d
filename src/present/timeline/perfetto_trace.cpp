// SPDX-License-Identifier: MIT
#include "present/timeline/perfetto_trace.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "present/timeline/perfetto_proto.h"

namespace stallprof {
namespace {

using perfetto::Message;

constexpr std::uint64_t kSequence = 1;  // one writer, so one sequence of packets
constexpr std::size_t kMaxInterned =
    4'096;  // names written once and then by number; others as they are
constexpr std::size_t kLongestName = 200;

// Names by number, as Perfetto's interning indexes have them.
class Interned {
 public:
  explicit Interned(std::uint32_t field) : field_(field) {}
  // 0: there is no room, say it in full. A new entry goes into `data`.
  std::uint64_t of(const std::string& text, Message& data) {
    if (const auto at = ids_.find(text); at != ids_.end()) return at->second;
    if (ids_.size() >= kMaxInterned) return 0;
    const std::uint64_t id = ids_.size() + 1;
    ids_.emplace(text, id);
    data.message(
        field_,
        Message().number(perfetto::interned::kIid, id).text(perfetto::interned::kName, text));
    return id;
  }

 private:
  std::uint32_t field_;
  std::map<std::string, std::uint64_t, std::less<>> ids_;
};

class PerfettoSink final : public TraceSink {
 public:
  PerfettoSink(ByteStream& out, Nanos bootOffset) : out_(out), offset_(bootOffset) {}

  void begin(const Trace& trace) {
    using namespace perfetto;
    const auto reading = [](std::uint64_t id, Nanos at) {
      return Message().number(clock::kId, id).integer(clock::kTimestamp, at.count());
    };
    Message snapshot;
    snapshot.message(clock::kClocks, reading(clock::kBoottime, trace.begin + offset_))
        .message(clock::kClocks, reading(clock::kMonotonic, trace.begin))
        .message(clock::kClocks, reading(clock::kRealtime, realtimeOfBegin(trace)));
    put(at(trace.begin).message(packet::kClockSnapshot, snapshot), packet::kStateCleared);
  }

  void lane(const TraceLane& lane) override {
    closeAll();
    const std::uint64_t process = processOf(lane);
    using namespace perfetto;
    lane_ = ++uuids_;
    Message descriptor;
    descriptor.number(track::kUuid, lane_)
        .number(track::kParent, process)
        .text(track::kName, name(lane.name));
    // A device's lanes are streams: tracks of its process, not threads of it.
    if (lane.device < 0)
      descriptor.message(track::kThread, Message()
                                             .integer(track::kThreadPid, lane.pid)
                                             .integer(track::kThreadTid, lane.tid)
                                             .text(track::kThreadName, name(lane.name)));
    put(Message().message(packet::kTrackDescriptor, descriptor));
  }

  void slice(const TraceLane&, const TraceSlice& slice) override {
    close(slice.begin);
    Message data, event;
    describe(slice, data, event);
    event.number(perfetto::event::kType, perfetto::event::kBegin)
        .number(perfetto::event::kTrack, lane_);
    putEvent(slice.begin, event, data);
    open_.push_back(slice.end);
    if (slice.flow != 0) arrow(slice);
  }

  void counter(const TraceLane& lane, std::string_view name, std::string_view unit, Nanos at,
               double value) override {
    using namespace perfetto;
    Message event;
    event.number(event::kType, event::kCounter)
        .number(event::kTrack, counterOf(lane, name, unit))
        .real(event::kCounterReal, value);
    putEvent(at, event, {});
  }

  void finish(Nanos begin, const TimelineSummary& summary) {
    closeAll();
    TraceSlice slice;
    slice.name = summary.whole ? "the whole recording" : "parts of the recording, the rest merged";
    slice.args.push_back({"slices", static_cast<std::int64_t>(summary.slices)});
    slice.args.push_back({"merged", static_cast<std::int64_t>(summary.merged)});
    slice.args.push_back({"cut", static_cast<std::int64_t>(summary.cut)});
    slice.args.push_back({"in full", joined(summary.detail, "; ")});
    using namespace perfetto;
    Message data, event;
    describe(slice, data, event);
    const std::uint64_t about = ++uuids_;
    put(Message().message(
        packet::kTrackDescriptor,
        Message().number(track::kUuid, about).text(track::kName, "about this file")));
    event.number(event::kType, event::kInstant).number(event::kTrack, about);
    putEvent(begin, event, data);
  }

 private:
  static std::string name(std::string_view bytes) { return escapeTerminal(bytes, kLongestName); }

  std::uint64_t processOf(const TraceLane& lane) {
    const auto [at, isNew] = processes_.try_emplace(lane.pid, 0);
    if (!isNew) return at->second;
    using namespace perfetto;
    at->second = ++uuids_;
    Message process;
    process.integer(track::kProcessPid, lane.pid).text(track::kProcessName, name(lane.process));
    put(Message().message(
        packet::kTrackDescriptor,
        Message().number(track::kUuid, at->second).message(track::kProcess, process)));
    return at->second;
  }

  std::uint64_t counterOf(const TraceLane& lane, std::string_view called, std::string_view unit) {
    const std::uint64_t process = processOf(lane);
    const auto [at, isNew] = counters_.try_emplace({process, std::string(called)}, 0);
    if (!isNew) return at->second;
    using namespace perfetto;
    at->second = ++uuids_;
    Message descriptor;
    descriptor.number(track::kUuid, at->second)
        .number(track::kParent, process)
        .text(track::kName, name(called))
        .message(track::kCounter, Message().text(track::kCounterUnitName, unit));
    put(Message().message(packet::kTrackDescriptor, descriptor));
    return at->second;
  }

  // Category, name and arguments.
  void describe(const TraceSlice& slice, Message& data, Message& event) {
    using namespace perfetto;
    event.number(event::kCategoryIid, categories_.of(std::string(categoryOf(slice.kind)), data));
    const std::string text = name(slice.name);
    if (const std::uint64_t id = names_.of(text, data); id != 0)
      event.number(event::kNameIid, id);
    else
      event.text(event::kName, text);
    for (const SliceArg& arg : slice.args) annotate(arg, data, event);
    if (slice.cut > Nanos(0)) annotate({"cut_ns", std::int64_t{slice.cut.count()}}, data, event);
  }

  void annotate(const SliceArg& arg, Message& data, Message& event) {
    using namespace perfetto;
    Message one;
    if (const std::uint64_t id = keys_.of(std::string(arg.key), data); id != 0)
      one.number(annotation::kNameIid, id);
    else
      one.text(annotation::kName, arg.key);
    if (const auto* n = std::get_if<std::int64_t>(&arg.value))
      one.integer(annotation::kInteger, *n);
    else if (const auto* d = std::get_if<double>(&arg.value))
      one.real(annotation::kReal, *d);
    else
      one.text(annotation::kText, escapeTerminal(std::get<std::string>(arg.value), 400));
    event.message(event::kAnnotation, one);
  }

  // Perfetto draws a flow from slice to slice by when they begin, and a fetch may begin before its
  // batch is made: so each end is an instant of its own, where the batch left and arrived.
  void arrow(const TraceSlice& slice) {
    TraceSlice end;
    end.kind = slice.kind;
    end.name = slice.flowEnds ? "batch arrives" : "batch is ready";
    using namespace perfetto;
    Message data, event;
    describe(end, data, event);
    event.number(event::kType, event::kInstant)
        .number(event::kTrack, lane_)
        .fixed(slice.flowEnds ? event::kFlowEnd : event::kFlow, slice.flow);
    putEvent(slice.flowAt, event, data);
  }

  // What ended by `now`, inner first.
  void close(Nanos now) {
    for (; !open_.empty() && open_.back() <= now; open_.pop_back()) closeOne();
  }
  void closeAll() {
    for (; !open_.empty(); open_.pop_back()) closeOne();
  }
  void closeOne() {
    Message event;
    event.number(perfetto::event::kType, perfetto::event::kEnd)
        .number(perfetto::event::kTrack, lane_);
    putEvent(open_.back(), event, {});
  }

  Message at(Nanos t) const {
    Message packet;
    packet.integer(perfetto::packet::kTimestamp, std::max(Nanos(0), t + offset_).count());
    return packet;
  }
  void putEvent(Nanos t, const Message& event, const Message& data) {
    Message packet = at(t);
    if (!data.empty()) packet.message(perfetto::packet::kInternedData, data);
    put(packet.message(perfetto::packet::kTrackEvent, event), perfetto::packet::kNeedsState);
  }
  void put(Message packet, std::uint64_t flags = perfetto::packet::kNeedsState) {
    packet.number(perfetto::packet::kSequence, kSequence)
        .number(perfetto::packet::kSequenceFlags, flags);
    out_ << Message().message(perfetto::trace::kPacket, packet).bytes();
  }

  ByteStream& out_;
  Nanos offset_;
  std::uint64_t uuids_ = 0, lane_ = 0;
  std::map<std::int64_t, std::uint64_t> processes_;                          // by pid
  std::map<std::pair<std::uint64_t, std::string>, std::uint64_t> counters_;  // of a process
  Interned categories_{perfetto::interned::kCategories};
  Interned names_{perfetto::interned::kEventNames};
  Interned keys_{perfetto::interned::kAnnotationNames};
  std::vector<Nanos> open_;  // ends of what is around, on this lane
};

}  // namespace

TraceWritten writePerfettoTrace(const Trace& trace, const Analyzed& analyzed,
                                const TimelineOptions& options, const WriteBytes& write) {
  Nanos offset{};
  if (!trace.clocks.empty() && trace.clocks.front().data.boottime > Nanos(0))
    offset = trace.clocks.front().data.boottime - trace.clocks.front().at;
  ByteStream out(write);
  PerfettoSink sink(out, offset);
  sink.begin(trace);
  TraceWritten written;
  written.summary = drawTimeline(trace, analyzed, options, sink);
  sink.finish(trace.begin, written.summary);
  written.ok = out.flush();
  written.bytes = out.bytes();
  return written;
}

}  // namespace stallprof
