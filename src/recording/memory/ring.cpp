// SPDX-License-Identifier: MIT
#include "recording/memory/ring.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/fd.h"
#include "event/event.h"
#include "recording/memory/event_memory.h"
#include "recording/memory/sealed_memory.h"

namespace stallprof {
namespace {

constexpr Nanos kOwnerCheck = std::chrono::seconds(1);
// Slots that were taken and not counted (their process died in between) are found within a minute.
// Not sooner: each owner is on a page of its own, out of the caches where nobody has read it for a
// second.
constexpr Nanos kSearchEvery = std::chrono::seconds(1);
constexpr std::size_t kSearched = 8;  // slots, each time

// Whose records a slot holds; `thread` as in EventMemory::Identities.
struct RecordOwner {
  ProcessId process;
  const std::function<ThreadId(ProcessId process, std::uint32_t tid)>& thread;
};

static_assert(sizeof(stallprof_record) == 24);

// Only what is reported from inside: a job cannot forge what is seen from outside.
constexpr bool writableByJob(std::uint16_t kind) {
  return (kind >= 30 && kind < 40) || kind == SettingChanged::kKind || kind == StepPlace::kKind ||
         kind == Range::kKind || kind == SourceState::kKind || kind == Loss::kKind;
}

// Reads values in order. A record with fewer leaves the tail at its defaults; `bad` once a value
// runs past the record's end.
struct ValueReader {
  std::span<const std::uint8_t> left;
  std::uint16_t values;
  std::uint32_t tid;
  const RecordOwner& owner;
  EventOut& out;
  bool bad = false;

  void operator()(const char*, ProcessId& field) { field = owner.process; }
  void operator()(const char*, ThreadId& field) { field = owner.thread(owner.process, tid); }
  void operator()(const char*, StackId&) {}  // seen from outside alone
  void operator()(const char*, StringId& field) {
    std::uint64_t length = 0;
    if (next(length)) field = out.intern(text(length));
  }
  void operator()(const char*, Nanos& field) {
    std::uint64_t value = 0;
    if (next(value)) field = Nanos(static_cast<std::int64_t>(value));
  }
  template <class T>
  requires std::is_enum_v<T>
  void operator()(const char*, T& field) {
    std::uint64_t value = 0;
    if (next(value) && value < knownValues(field)) field = static_cast<T>(value);
  }
  template <class T>
  requires std::is_integral_v<T>
  void operator()(const char*, T& field) {
    std::uint64_t value = 0;
    if (next(value)) field = clamp<T>(value);
  }

 private:
  template <class T>
  static T clamp(std::uint64_t value) {
    using Limits = std::numeric_limits<T>;
    if constexpr (std::is_same_v<T, bool>) return value != 0;
    if constexpr (std::is_signed_v<T>) {
      const auto number = static_cast<std::int64_t>(value);
      return number < Limits::min()   ? Limits::min()
             : number > Limits::max() ? Limits::max()
                                      : static_cast<T>(number);
    }
    return value > static_cast<std::uint64_t>(Limits::max()) ? Limits::max()
                                                             : static_cast<T>(value);
  }

  bool next(std::uint64_t& value) {
    if (bad || values == 0) return false;
    --values;
    if (left.size() < sizeof value) return !(bad = true);
    std::memcpy(&value, left.data(), sizeof value);
    left = left.subspan(sizeof value);
    return true;
  }

  std::string_view text(std::uint64_t length) {
    const std::uint64_t padded = (length + 7) & ~std::uint64_t{7};
    if (length > STALLPROF_TEXT_LIMIT || padded > left.size()) {
      bad = true;
      return {};
    }
    const std::string_view found(reinterpret_cast<const char*>(left.data()), length);
    left = left.subspan(padded);
    return found;
  }
};

using ReadValues = void (*)(ValueReader&, Payload&);
struct MakeRead {
  template <class P>
  constexpr ReadValues operator()() const {
    return [](ValueReader& reader, Payload& payload) { P::fields(payload.emplace<P>(), reader); };
  }
};
constexpr auto kRead = tableByKind<ReadValues>(MakeRead{});

// Puts the event of one record of the event memory (event_memory.h) into `out`; padding is nothing.
// `record` is a private copy, untrusted, of `size` bytes as its first word says. False, and nothing
// put: it cannot be what it claims, or is of a kind the job may not write.
bool putRecord(std::span<const std::uint8_t> record, const RecordOwner& owner, EventOut& out) {
  stallprof_record header{};
  std::memcpy(&header, record.data(), std::min(record.size(), sizeof header));
  if (header.kind == 0) return true;  // padding, which may be as short as its first word
  if (record.size() < sizeof header || header.kind >= kRead.size() || !writableByJob(header.kind))
    return false;
  const ReadValues read = kRead[header.kind];
  if (read == nullptr || header.at > static_cast<std::uint64_t>(Nanos::max().count())) return false;
  Event event;
  event.at = Nanos(static_cast<std::int64_t>(header.at));
  ValueReader reader{record.subspan(sizeof header), header.values, header.tid, owner, out};
  read(reader, event.payload);
  if (reader.bad) return false;
  out.put(event);
  return true;
}

// What the recorder itself knows of a slot: the job can write to all of the shared memory, so
// nothing there is read back as if it were ours.
struct SlotState {
  std::uint64_t tail = 0;
  std::uint64_t dropped = 0;
  Nanos nextOwnerCheck{};
};

class MappedMemory final : public EventMemory {
 public:
  MappedMemory(Fd fd, stallprof_memory_header* header)
      : fd_(std::move(fd)),
        header_(header),
        slots_(reinterpret_cast<stallprof_slot*>(header_ + 1)) {}
  ~MappedMemory() override { ::munmap(header_, STALLPROF_MEMORY_BYTES); }

  std::string path(std::uint32_t recorderPid) const override {
    return "/proc/" + std::to_string(recorderPid) + "/fd/" + std::to_string(fd_.get());
  }
  void drain(Nanos now, const Identities& identities, EventOut& out) override;
  void close() override { storeShared(header_->closed, std::uint32_t{1}); }

 private:
  void search();
  void searchSome(Nanos now);
  void drainSlot(std::size_t index, Nanos now, const Identities& identities, EventOut& out);
  bool drainRing(std::size_t index, std::uint64_t head, const RecordOwner& owner, EventOut& out);
  void free(std::size_t index);

  Fd fd_;
  stallprof_memory_header* header_;
  stallprof_slot* slots_;
  std::array<SlotState, STALLPROF_MEMORY_SLOTS> states_{};
  alignas(8) std::array<std::uint8_t, STALLPROF_RING_BYTES> copy_{};
  std::vector<std::size_t> owned_;  // slots, in order
  std::uint32_t claims_ = 0;        // by then
  Nanos nextSearch_{};
  std::size_t searched_ = 0;  // the next slot to be
  bool full_ = false;
};

void MappedMemory::search() {
  claims_ = loadShared(header_->claims);
  owned_.clear();
  for (std::size_t i = 0; i < states_.size(); ++i)
    if (loadShared(slots_[i].owner) != 0) owned_.push_back(i);
}

void MappedMemory::searchSome(Nanos now) {
  nextSearch_ = now + kSearchEvery;
  for (std::size_t i = 0; i < kSearched; ++i) {
    const std::size_t slot = searched_++ % states_.size();
    const auto known = std::lower_bound(owned_.begin(), owned_.end(), slot);
    if (loadShared(slots_[slot].owner) != 0 && (known == owned_.end() || *known != slot))
      owned_.insert(known, slot);
  }
}

void MappedMemory::drain(Nanos now, const Identities& identities, EventOut& out) {
  if (loadShared(header_->claims) != claims_) search();
  if (now >= nextSearch_) searchSome(now);
  for (const std::size_t i : owned_)
    if (loadShared(slots_[i].owner) != 0) drainSlot(i, now, identities, out);
  const bool full = owned_.size() == states_.size();
  std::erase_if(owned_, [this](std::size_t i) { return loadShared(slots_[i].owner) == 0; });
  if (full && !full_)
    out.emit(now, Loss{LossKind::kRingSlots, 1,
                       out.intern("every slot is taken: processes that "
                                  "start now are not seen by the hook")});
  full_ = full;
}

void MappedMemory::drainSlot(std::size_t index, Nanos now, const Identities& identities,
                             EventOut& out) {
  stallprof_slot& slot = slots_[index];
  SlotState& state = states_[index];
  const std::uint32_t pid = loadShared(slot.owner);
  // Asked before the head is read: what a process wrote before it went is drained.
  bool gone = false;
  if (now >= state.nextOwnerCheck) {
    gone =
        state.nextOwnerCheck != Nanos{} && identities.ownerGone(pid, loadShared(slot.start_ticks));
    state.nextOwnerCheck = now + kOwnerCheck;
  }
  const std::uint64_t head = loadShared(slot.head);
  const std::uint64_t dropped = loadShared(slot.dropped);
  if (dropped != state.dropped)
    out.emit(now, Loss{LossKind::kRingFull, dropped - state.dropped, {}});
  state.dropped = dropped;
  if (head != state.tail) {
    // After the head: the owner wrote its start before its first record.
    const ProcessId process = identities.process(pid, loadShared(slot.start_ticks));
    const RecordOwner owner{process, identities.thread};
    if (!drainRing(index, head, owner, out))
      out.emit(now, Loss{LossKind::kRingDamaged, 1, out.intern("events of one process dropped")});
    state.tail = head;
    storeShared(slot.tail, head);
  }
  if (gone) free(index);
}

// The consumer of a single-producer ring in shared memory: `head` was loaded with acquire, so all
// bytes before it are whole. The producer is not trusted: each record is copied out before it is
// checked, so that the job cannot change it under the checks, and its size is read once. Bounded by
// one ring (64 KiB) a call; O(bytes).
bool MappedMemory::drainRing(std::size_t index, std::uint64_t head, const RecordOwner& owner,
                             EventOut& out) {
  std::uint64_t tail = states_[index].tail;
  if (head - tail > STALLPROF_RING_BYTES || head % 8 != 0) return false;
  bool whole = true;
  while (tail != head) {
    const std::size_t at = tail % STALLPROF_RING_BYTES;
    const std::size_t room = std::min<std::size_t>(head - tail, STALLPROF_RING_BYTES - at);
    const std::uint8_t* data = slots_[index].data + at;
    std::uint32_t size = 0;
    std::memcpy(&size, data, sizeof size);
    if (size < 8 || size % 8 != 0 || size > room) return false;
    std::memcpy(copy_.data(), data, size);
    std::memcpy(copy_.data(), &size, sizeof size);
    if (!putRecord({copy_.data(), size}, owner, out)) whole = false;
    tail += size;
  }
  return whole;
}

void MappedMemory::free(std::size_t index) {
  stallprof_slot& slot = slots_[index];
  states_[index] = SlotState{};
  storeShared(slot.head, std::uint64_t{0});
  storeShared(slot.tail, std::uint64_t{0});
  storeShared(slot.dropped, std::uint64_t{0});
  storeShared(slot.start_ticks, std::uint64_t{0});
  storeShared(slot.owner, std::uint32_t{0});
}

}  // namespace

Result<std::unique_ptr<EventMemory>> EventMemory::create(const std::string& recording) {
  Result<SealedMemory> made = makeSealedMemory("stallprof-events", "the event memory",
                                               STALLPROF_MEMORY_BYTES, STALLPROF_MEMORY_BYTES);
  if (!made.ok()) return std::move(made).error();
  SealedMemory& memory = made.value();
  auto* header = static_cast<stallprof_memory_header*>(memory.begin);
  header->version = STALLPROF_MEMORY_VERSION;
  header->slots = STALLPROF_MEMORY_SLOTS;
  header->ring_bytes = STALLPROF_RING_BYTES;
  if (!recording.empty()) header->run = stallprof_run_name(recording.c_str());
  std::int64_t offsets[2];
  stallprof_time_offsets(offsets);
  header->monotonic_offset = offsets[0];
  header->boottime_offset = offsets[1];
  storeShared(header->magic, static_cast<std::uint64_t>(STALLPROF_MEMORY_MAGIC));
  return std::unique_ptr<EventMemory>(new MappedMemory(std::move(memory.fd), header));
}

bool EventMemory::isOf(const std::string& path, const std::string& recording) {
  stallprof_event_writer writer{};
  if (!stallprof_writer_open(&writer, path.c_str())) return false;
  const bool ours =
      stallprof_is_our_run(writer.memory, recording.empty() ? nullptr : recording.c_str());
  ::munmap(writer.memory, STALLPROF_MEMORY_BYTES);
  return ours;
}

}  // namespace stallprof
