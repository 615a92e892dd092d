// SPDX-License-Identifier: MIT
#include "recording/format/segment_encoder.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "recording/format/byte_io.h"
#include "recording/format/format.h"

namespace stallprof {
namespace {

// What a string costs in memory beside its bytes: string object, map node, bucket, local number.
constexpr std::size_t kStringRowCost = 112;

template <class Map>
void forgetGone(Map& identities) {
  std::erase_if(identities, [](const auto& entry) { return entry.second.gone; });
  for (auto& entry : identities) entry.second.announced = false;
}

constexpr std::size_t kBodyLimit = 512, kMaxFields = 256;

// The fields of an event as the numbers that are written as varints.
struct FieldNumbers {
  std::array<std::uint64_t, kMaxFields> values;
  std::size_t count = 0;
  std::span<const std::uint32_t> localStrings;

  void operator()(const char*, StringId id) {
    const bool known = !id.none() && id.value <= localStrings.size();
    values[count++] = known ? localStrings[id.value - 1] : 0;
  }
  template <class Tag>
  void operator()(const char*, Id<Tag> id) {
    values[count++] = id.value;
  }
  void operator()(const char*, Nanos time) { values[count++] = zigzag(time.count()); }
  template <class T>
  requires std::is_integral_v<T> || std::is_enum_v<T>
  void operator()(const char*, T value) {
    if constexpr (std::is_signed_v<T>)
      values[count++] = zigzag(value);
    else
      values[count++] = static_cast<std::uint64_t>(value);
  }
};

template <class P>
FieldNumbers numbersOf(const P& payload, std::span<const std::uint32_t> localStrings) {
  FieldNumbers numbers;  // not zeroed: this runs for each event
  numbers.localStrings = localStrings;
  P::fields(payload, numbers);
  return numbers;
}

void appendRecord(std::uint8_t kind, std::size_t length, std::string& out) {
  std::uint8_t head[1 + kVarintLimit] = {kind};
  const std::uint8_t* end = putVarint(head + 1, length);
  out.append(reinterpret_cast<const char*>(head), static_cast<std::size_t>(end - head));
}

// Wrapping, so that no pair of times can overflow; the reader wraps back.
std::int64_t difference(Nanos a, Nanos b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a.count()) -
                                   static_cast<std::uint64_t>(b.count()));
}

}  // namespace

void encodeEvent(const Event& event, Nanos previous, std::span<const std::uint32_t> localStrings,
                 std::string& out) {
  std::visit(
      [&]<class P>(const P& payload) {
        // A varint takes at most twice its field: 2 bytes for 1, 10 for 8.
        static_assert(kVarintLimit + 2 * sizeof(P) <= kBodyLimit && sizeof(P) <= kMaxFields);
        static const FieldNumbers kDefaults = numbersOf(P{}, {});
        FieldNumbers numbers = numbersOf(payload, localStrings);
        // Fields at the end that are at their defaults are left out: the reader has them.
        while (numbers.count > 0 &&
               numbers.values[numbers.count - 1] == kDefaults.values[numbers.count - 1])
          --numbers.count;
        std::uint8_t body[kBodyLimit];
        std::uint8_t* end = putVarint(body, zigzag(difference(event.at, previous)));
        for (std::size_t i = 0; i < numbers.count; ++i) end = putVarint(end, numbers.values[i]);
        const auto length = static_cast<std::size_t>(end - body);
        appendRecord(P::kKind, length, out);
        out.append(reinterpret_cast<const char*>(body), length);
      },
      event.payload);
}

void encodeString(std::uint32_t local, std::string_view text, std::string& out) {
  std::uint8_t id[kVarintLimit];
  const auto idLength = static_cast<std::size_t>(putVarint(id, local) - id);
  appendRecord(format::kStringRecord, idLength + text.size(), out);
  out.append(reinterpret_cast<const char*>(id), idLength);
  out.append(text);
}

StringId SegmentEncoder::intern(std::string_view text) {
  text = text.substr(0, format::kStringLimit);
  if (const StringId known = strings_.find(text); !known.none() || text.empty()) return known;
  const std::size_t used = strings_.bytes() + strings_.size() * kStringRowCost;
  if (used + text.size() + kStringRowCost > stringBytes_) {
    ++stringsOver_;
    return strings_.intern("(other)");
  }
  return strings_.intern(text);
}

void SegmentEncoder::note(const Event& event) {
  if (const auto* process = std::get_if<ProcessSeen>(&event.payload))
    processes_[process->process.value] = {event.at, *process, false, false};
  else if (const auto* thread = std::get_if<ThreadSeen>(&event.payload))
    threads_[thread->thread.value] = {event.at, *thread, false, false};
  else if (const auto* stack = std::get_if<StackSeen>(&event.payload))
    stacks_[stack->stack.value] = {event.at, *stack, false, false};
  else if (const auto* gone = std::get_if<ProcessGone>(&event.payload)) {
    if (const auto at = processes_.find(gone->process.value); at != processes_.end())
      at->second.gone = true;
  } else if (const auto* ended = std::get_if<ThreadGone>(&event.payload)) {
    if (const auto at = threads_.find(ended->thread.value); at != threads_.end())
      at->second.gone = true;
  }
}

void SegmentEncoder::encode(const Event& event) {
  std::visit([this](const auto& payload) { prepare(payload); }, event.payload);
  append(event);
  forgetEnded(event);
}

// It is announced by now, so what else names it in this segment needs nothing of it; and in the
// next one it would be forgotten.
void SegmentEncoder::forgetEnded(const Event& event) {
  if (const auto* process = std::get_if<ProcessGone>(&event.payload))
    processes_.erase(process->process.value);
  else if (const auto* thread = std::get_if<ThreadGone>(&event.payload))
    threads_.erase(thread->thread.value);
}

// An identity's own event is what announces it: nothing is put before it but its strings and the
// identities it names besides.
template <class P>
void SegmentEncoder::prepare(const P& payload) {
  if constexpr (std::is_same_v<P, ProcessSeen>) {
    if (const auto at = processes_.find(payload.process.value); at != processes_.end())
      at->second.announced = true;
  } else if constexpr (std::is_same_v<P, ThreadSeen>) {
    if (const auto at = threads_.find(payload.thread.value); at != threads_.end())
      at->second.announced = true;
  } else if constexpr (std::is_same_v<P, StackSeen>) {
    if (const auto at = stacks_.find(payload.stack.value); at != stacks_.end())
      at->second.announced = true;
  }
  P::fields(payload, [this]<class T>(const char*, const T& field) {
    if constexpr (std::is_same_v<T, StringId>)
      define(field);
    else if constexpr (std::is_same_v<T, ProcessId> || std::is_same_v<T, ThreadId> ||
                       std::is_same_v<T, StackId>)
      announce(field);
  });
}

void SegmentEncoder::define(StringId id) {
  if (id.none() || id.value > strings_.size()) return;
  if (local_.size() < id.value) local_.resize(std::max<std::size_t>(id.value, strings_.size()));
  std::uint32_t& local = local_[id.value - 1];
  if (local != 0) return;
  local = ++defined_;
  encodeString(local, strings_.at(id), open_.payload);
}

void SegmentEncoder::announce(ProcessId id) {
  const auto at = processes_.find(id.value);
  if (at == processes_.end() || at->second.announced) return;
  const Event event{at->second.at, at->second.seen};  // a copy: a parent is announced first
  encode(event);
}

void SegmentEncoder::announce(ThreadId id) {
  const auto at = threads_.find(id.value);
  if (at == threads_.end() || at->second.announced) return;
  encode(Event{at->second.at, at->second.seen});
}

// Stacks are deep: the callers that the segment lacks first, outermost first, without recursion.
void SegmentEncoder::announce(StackId id) {
  callers_.clear();
  std::uint32_t above = ~0u;  // a caller's id is smaller, so the way up ends
  for (auto at = stacks_.find(id.value);
       at != stacks_.end() && !at->second.announced && at->first < above;
       at = stacks_.find(at->second.seen.caller.value)) {
    above = at->first;
    callers_.push_back(above);
  }
  for (; !callers_.empty(); callers_.pop_back()) {
    auto& frame = stacks_.find(callers_.back())->second;
    frame.announced = true;
    define(frame.seen.function);
    define(frame.seen.file);
    append(Event{frame.at, frame.seen});
  }
}

// Stacks are announced when they are next used: most are not.
void SegmentEncoder::announceAll() {
  for (const auto& entry : processes_)
    if (!entry.second.gone) announce(ProcessId{entry.first});
  for (const auto& entry : threads_)
    if (!entry.second.gone) announce(ThreadId{entry.first});
}

void SegmentEncoder::append(const Event& event) {
  if (!pending()) open_.since = event.at;
  encodeEvent(event, previous_, local_, open_.payload);
  previous_ = event.at;
  ++open_.events;
  if (open_.payload.size() >= frameBytes_) cut();
}

void SegmentEncoder::cut() {
  if (!pending()) return;
  cutBytes_ += open_.payload.size();
  frames_.push_back(std::move(open_));
  open_ = Frame{std::move(spare_), 0, {}};
  open_.payload.clear();
  spare_.clear();
  previous_ = {};
}

void SegmentEncoder::popFrame() {
  cutBytes_ -= frames_.front().payload.size();
  spare_ = std::move(frames_.front().payload);
  frames_.pop_front();
}

std::uint64_t SegmentEncoder::events() const {
  std::uint64_t count = open_.events;
  for (const Frame& frame : frames_) count += frame.events;
  return count;
}

void SegmentEncoder::beginSegment() {
  frames_.clear();
  cutBytes_ = 0;
  open_.payload.clear();
  open_.events = 0;
  previous_ = {};
  std::fill(local_.begin(), local_.end(), 0);
  defined_ = 0;
  forgetGone(processes_);
  forgetGone(threads_);
  forgetGone(stacks_);
}

}  // namespace stallprof
