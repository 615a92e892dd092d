// SPDX-License-Identifier: MIT
#include "trace/live_window.h"

#include <algorithm>

#include "trace/trace_builder.h"

namespace stallprof {
namespace {

// An event is some 150 bytes: 300 MB, whatever is in the file.
constexpr std::size_t kMaxRecent = 2'000'000;

Nanos eventEnd(const Event& event) {
  return std::visit([&](const auto& payload) { return endOf(event.at, payload); }, event.payload);
}

}  // namespace

bool LiveWindow::lasting(const Event& event, Key& key) {
  return std::visit(
      [&](const auto& p) {
        using P = std::decay_t<decltype(p)>;
        if constexpr (std::is_same_v<P, ProcessSeen>)
          key = {p.process.value, 0};
        else if constexpr (std::is_same_v<P, ThreadSeen> || std::is_same_v<P, WorkerBegin>)
          key = {p.thread.value, 0};
        else if constexpr (std::is_same_v<P, IteratorBegin>)  // several may go on at a time
          key = {p.thread.value, p.loader};
        else if constexpr (std::is_same_v<P, StackSeen>)
          key = {p.stack.value, 0};
        else if constexpr (std::is_same_v<P, FrameworkSeen>)
          key = {p.process.value, p.name.value};
        else if constexpr (std::is_same_v<P, LoaderSeen>)
          key = {p.process.value, p.loader};
        else if constexpr (std::is_same_v<P, SourceState>)
          key = {p.source.value, 0};
        else if constexpr (std::is_same_v<P, DeviceSeen>)
          key = {p.device.value, p.process.value};
        else
          return false;
        return true;
      },
      event.payload);
}

void LiveWindow::take(const Event& event) {
  ++taken_;
  Key key;
  if (lasting(event, key)) {
    lasting_[event.payload.index()].insert_or_assign(key, event);
    return;
  }
  if (const auto* fetch = std::get_if<Fetch>(&event.payload)) batches_ += fetch->end ? 0 : 1;
  commandEnded_ = commandEnded_ || std::holds_alternative<CommandEnd>(event.payload);
  latest_ = std::max(latest_, eventEnd(event));
  recent_.push_back(event);
  while (!recent_.empty() &&
         (eventEnd(recent_.front()) < latest_ - span_ || recent_.size() > kMaxRecent)) {
    forget(recent_.front());
    recent_.pop_front();
  }
}

// A life that ended before the span is nobody's any more.
void LiveWindow::forget(const Event& event) {
  const auto erase = [&](const Payload& kind, std::uint64_t id) {
    auto& events = lasting_[kind.index()];
    events.erase(events.lower_bound(Key{id, 0}), events.lower_bound(Key{id + 1, 0}));
  };
  if (const auto* gone = std::get_if<ProcessGone>(&event.payload))
    erase(ProcessSeen{}, gone->process.value);
  if (const auto* gone = std::get_if<ThreadGone>(&event.payload)) {
    erase(ThreadSeen{}, gone->thread.value);
    erase(IteratorBegin{}, gone->thread.value);
    erase(WorkerBegin{}, gone->thread.value);
  }
}

Trace LiveWindow::trace(const Manifest& manifest) const {
  const Nanos begin = std::max(latest_ - span_, Nanos(0));
  TraceBuilder builder;
  builder.comesAfter(taken_);
  builder.manifest() = manifest;
  builder.manifest().startedMonotonic = std::max(manifest.startedMonotonic, begin);
  for (std::uint32_t id = 1; id <= strings_.size(); ++id)
    (void)builder.strings().intern(strings_.at(StringId{id}));  // the same ids: dense, in order
  for (const auto& [kind, events] : lasting_)
    for (const auto& [key, event] : events)
      builder.take(Event{std::max(event.at, begin), event.payload});
  for (const Event& event : recent_)
    if (event.at >= begin) builder.take(event);
  return builder.seal();
}

double LiveWindow::recorderCpuRatio() const {
  const Event *first = nullptr, *last = nullptr;
  for (const Event& event : recent_)
    if (std::holds_alternative<RecorderUsage>(event.payload))
      (first == nullptr ? first : last) = &event;
  if (last == nullptr || last->at <= first->at) return -1;
  return seconds(std::get<RecorderUsage>(last->payload).cpu -
                 std::get<RecorderUsage>(first->payload).cpu) /
         seconds(last->at - first->at);
}

}  // namespace stallprof
