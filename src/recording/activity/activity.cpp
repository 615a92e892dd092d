// SPDX-License-Identifier: MIT
#include "recording/activity/activity.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/fd.h"
#include "recording/activity/activity_area.h"
#include "recording/activity/activity_keep.h"
#include "recording/activity/activity_process.h"
#include "recording/activity/activity_source.h"
#include "recording/memory/sealed_memory.h"

namespace stallprof {
namespace {

constexpr Nanos kOwnerCheckEvery = std::chrono::seconds(1);
// A process that begins to use a GPU takes longer than this to load its libraries.
constexpr Nanos kAreaSearchEvery = std::chrono::milliseconds(500);
constexpr std::size_t kControlPages = (kAreaControlBytes + 4095) / 4096 * 4096;
static_assert(sizeof(stallprof_activity_header) == 4096);
static_assert(sizeof(stallprof_activity_area) % 4096 == 0);

off_t offsetOf(std::size_t area) {
  return static_cast<off_t>(sizeof(stallprof_activity_header) +
                            area * sizeof(stallprof_activity_area));
}

std::span<const std::uint8_t> bytesOf(const auto& value) {
  return {reinterpret_cast<const std::uint8_t*>(&value), sizeof value};
}

// The control part of an area, mapped while the area has an owner.
class MappedControl {
 public:
  MappedControl() = default;
  MappedControl(const MappedControl&) = delete;
  MappedControl& operator=(const MappedControl&) = delete;
  ~MappedControl() { unmap(); }
  bool map(int fd, std::size_t area) {
    void* at =
        ::mmap(nullptr, kControlPages, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offsetOf(area));
    if (at == MAP_FAILED) return false;
    area_ = static_cast<stallprof_activity_area*>(at);
    return true;
  }
  void unmap() {
    if (area_ != nullptr) ::munmap(area_, kControlPages);
    area_ = nullptr;
  }
  stallprof_activity_area* operator->() const { return area_; }
  explicit operator bool() const { return area_ != nullptr; }

  // What was handed over before `flushed`, and before each buffer became full, is in the copy.
  void copy(AreaControl& to) const {
    const std::uint64_t flushed = loadShared(area_->flushed);
    stallprof_activity_buffer buffers[STALLPROF_ACTIVITY_BUFFERS];
    for (std::size_t i = 0; i < STALLPROF_ACTIVITY_BUFFERS; ++i)
      buffers[i] = {loadShared(area_->buffer[i].state), 0, loadShared(area_->buffer[i].bytes)};
    std::memcpy(static_cast<void*>(&to), area_, sizeof to);
    std::atomic_thread_fence(std::memory_order_acquire);
    to.flushed = flushed;
    std::copy(std::begin(buffers), std::end(buffers), to.buffer);
  }

 private:
  stallprof_activity_area* area_ = nullptr;
};

struct Area {
  MappedControl control;
  std::unique_ptr<ActivityProcess> process;
  std::uint32_t owner = 0;
  Nanos nextOwnerCheck{};
};

class SharedMemory final : public ActivityMemory {
 public:
  SharedMemory(Fd fd, stallprof_activity_header* header)
      : fd_(std::move(fd)), header_(header), since_(now()) {}
  ~SharedMemory() override { ::munmap(header_, sizeof *header_); }

  std::string path(std::uint32_t recorderPid) const override {
    return "/proc/" + std::to_string(recorderPid) + "/fd/" + std::to_string(fd_.get());
  }
  Status keep(const std::string& file) override;
  void drain(Nanos now, const EventMemory::Identities& identities, EventOut& out) override {
    drainAll({identities, out, now}, false);
  }
  void finish(Nanos now, const EventMemory::Identities& identities, EventOut& out) override {
    nextSearch_ = Nanos{};
    drainAll({identities, out, now}, true);
  }
  void close() override { storeShared(header_->closed, std::uint32_t{1}); }

 private:
  using Sink = ActivityProcess::Sink;
  void drainAll(const Sink& sink, bool last);
  void search();
  void drainArea(std::size_t index, const Sink& sink, bool last);
  void take(std::size_t index, bool gone, bool last, const Sink& sink);
  void takeNames(std::size_t index, const Sink& sink);
  void takeBuffer(std::size_t index, std::size_t buffer, bool torn, const Sink& sink);
  [[nodiscard]] std::span<const std::uint8_t> read(std::size_t index, std::size_t offset,
                                                   std::size_t size);
  void zero(std::size_t index, std::size_t offset, std::size_t size);
  void end(std::size_t index, const Sink& sink);
  void free(std::size_t index);
  void keepStep(kept::Step step, std::size_t index, const Sink& sink,
                std::span<const std::uint8_t> bytes = {}) {
    if (keep_) keep_->step(step, static_cast<std::uint32_t>(index), sink.now, bytes);
  }

  Fd fd_;
  stallprof_activity_header* header_;
  Nanos since_, nextSearch_{};
  std::array<Area, STALLPROF_ACTIVITY_AREAS> areas_;
  ActivityBudget budget_;
  ActivitySource source_;
  AreaControl copy_;
  std::vector<std::uint8_t> scratch_;  // one buffer, once there is any
  std::unique_ptr<ActivityKeep> keep_;
  std::uint32_t turnedAway_ = 0;
};

Status SharedMemory::keep(const std::string& file) {
  auto keep = ActivityKeep::create(file);
  if (!keep.ok()) return Error(keep.error());
  keep_ = std::move(keep).value();
  return Done{};
}

// Reads do not touch the memory: a page that nobody has written stays a hole.
void SharedMemory::search() {
  for (std::size_t i = 0; i < areas_.size(); ++i) {
    std::uint32_t owner = 0;
    if (!areas_[i].control && ::pread(fd_.get(), &owner, sizeof owner, offsetOf(i)) > 0 &&
        owner != 0)
      areas_[i].control.map(fd_.get(), i);
  }
}

void SharedMemory::drainAll(const Sink& sink, bool last) {
  if (sink.now >= nextSearch_) {
    search();
    nextSearch_ = sink.now + kAreaSearchEvery;
  }
  budget_.tick(sink.now);
  std::vector<const ActivityProcess*> processes;
  for (std::size_t i = 0; i < areas_.size(); ++i) {
    if (!areas_[i].control) continue;
    drainArea(i, sink, last);
    if (areas_[i].process) processes.push_back(areas_[i].process.get());
  }
  source_.report(processes, sink.now, sink.out);
  const std::uint32_t turnedAway = loadShared(header_->turned_away);
  if (turnedAway > turnedAway_)
    sink.out.emit(sink.now, Loss{LossKind::kDeviceSlots, turnedAway - turnedAway_,
                                 sink.out.intern("processes that use a GPU, beyond the areas")});
  turnedAway_ = std::max(turnedAway_, turnedAway);
}

void SharedMemory::drainArea(std::size_t index, const Sink& sink, bool last) {
  Area& area = areas_[index];
  const std::uint32_t owner = loadShared(area.control->owner);
  if (area.process && owner != area.owner) end(index, sink);  // a job that writes here itself
  area.owner = owner;
  if (owner == 0) return;
  if (!area.process) {
    area.process = std::make_unique<ActivityProcess>(since_, budget_);
    area.nextOwnerCheck = sink.now + kOwnerCheckEvery;
  }
  // Asked before anything is read: what a process wrote before it went is taken.
  bool gone = false;
  if (last || sink.now >= area.nextOwnerCheck) {
    gone = sink.identities.ownerGone(owner, loadShared(area.control->start_ticks));
    area.nextOwnerCheck = sink.now + kOwnerCheckEvery;
  }
  take(index, gone, last, sink);
  if (gone || last) end(index, sink);
  if (gone) free(index);
}

void SharedMemory::take(std::size_t index, bool gone, bool last, const Sink& sink) {
  ActivityProcess& process = *areas_[index].process;
  areas_[index].control.copy(copy_);
  keepStep(kept::Step::kControl, index, sink, bytesOf(copy_));
  process.control(copy_, sink);
  takeNames(index, sink);
  // Without a pair of clocks no record has a time: it stays where it is.
  if (!process.ready() && !gone && !last) return;
  for (std::size_t i = 0; i < STALLPROF_ACTIVITY_BUFFERS; ++i) {
    const std::uint32_t state = copy_.buffer[i].state;
    if (state == STALLPROF_BUFFER_FULL || (gone && state == STALLPROF_BUFFER_TAKEN))
      takeBuffer(index, i, state == STALLPROF_BUFFER_TAKEN, sink);
  }
  keepStep(kept::Step::kSettle, index, sink);
  process.settle(sink);
}

void SharedMemory::takeNames(std::size_t index, const Sink& sink) {
  ActivityProcess& process = *areas_[index].process;
  const std::uint64_t from = process.namesRead();
  if (copy_.nameHead <= from || copy_.nameHead > STALLPROF_NAME_BYTES) return;
  const auto bytes = read(index, offsetof(stallprof_activity_area, names) + from,
                          static_cast<std::size_t>(copy_.nameHead - from));
  keepStep(kept::Step::kNames, index, sink, bytes);
  process.names(bytes, sink);
}

void SharedMemory::takeBuffer(std::size_t index, std::size_t buffer, bool torn, const Sink& sink) {
  Area& area = areas_[index];
  const std::size_t offset = offsetof(stallprof_activity_area, data) +
                             buffer * std::size_t{STALLPROF_ACTIVITY_BUFFER_BYTES};
  const std::uint64_t claimed = copy_.buffer[buffer].bytes;
  const std::size_t size = torn ? STALLPROF_ACTIVITY_BUFFER_BYTES
                                : static_cast<std::size_t>(std::min<std::uint64_t>(
                                      claimed, STALLPROF_ACTIVITY_BUFFER_BYTES));
  if (size < claimed) area.process->damaged(claimed - size);
  auto bytes = read(index, offset, size);
  if (torn) bytes = bytes.first(writtenBytes(bytes));
  keepStep(torn ? kept::Step::kTorn : kept::Step::kFull, index, sink, bytes);
  area.process->buffer(bytes, torn, sink);
  if (torn) return;  // the owner is gone: the whole area is freed
  zero(index, offset, size);
  storeShared(area.control->buffer[buffer].bytes, std::uint64_t{0});
  storeShared(area.control->buffer[buffer].state,
              static_cast<std::uint32_t>(STALLPROF_BUFFER_FREE));
}

// Through the descriptor, not a mapping: pages of the job do not become part of our memory.
std::span<const std::uint8_t> SharedMemory::read(std::size_t index, std::size_t offset,
                                                 std::size_t size) {
  scratch_.resize(std::max(scratch_.size(), size));
  return {scratch_.data(), readAt(fd_.get(), scratch_.data(), size,
                                  static_cast<std::uint64_t>(offsetOf(index)) + offset)};
}

// Written over, not punched out: a hole would have the job's threads fault every page in again.
void SharedMemory::zero(std::size_t index, std::size_t offset, std::size_t size) {
  static const std::array<std::uint8_t, 65536> kZeros{};
  while (size > 0) {
    const std::size_t part = std::min(size, kZeros.size());
    const ssize_t done =
        ::pwrite(fd_.get(), kZeros.data(), part, offsetOf(index) + static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return;
    offset += static_cast<std::size_t>(done);
    size -= static_cast<std::size_t>(done);
  }
}

void SharedMemory::end(std::size_t index, const Sink& sink) {
  keepStep(kept::Step::kEnd, index, sink);
  areas_[index].process->end(sink);
  areas_[index].process.reset();
}

void SharedMemory::free(std::size_t index) {
  Area& area = areas_[index];
  const std::size_t names = offsetof(stallprof_activity_area, names);
  (void)::fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    offsetOf(index) + static_cast<off_t>(names),
                    static_cast<off_t>(sizeof(stallprof_activity_area) - names));
  auto* bytes = reinterpret_cast<std::uint8_t*>(area.control.operator->());
  std::memset(bytes + sizeof(std::uint32_t), 0, kControlPages - sizeof(std::uint32_t));
  storeShared(area.control->owner, std::uint32_t{0});
  area.control.unmap();
  area.owner = 0;
}

}  // namespace

Result<std::unique_ptr<ActivityMemory>> ActivityMemory::create(bool inWindows) {
  Result<SealedMemory> made =
      makeSealedMemory("stallprof-activity", "the activity memory", STALLPROF_ACTIVITY_BYTES,
                       sizeof(stallprof_activity_header));
  if (!made.ok()) return std::move(made).error();
  SealedMemory& memory = made.value();
  auto* header = static_cast<stallprof_activity_header*>(memory.begin);
  header->version = STALLPROF_ACTIVITY_VERSION;
  header->areas = STALLPROF_ACTIVITY_AREAS;
  header->in_windows = inWindows ? 1 : 0;
  storeShared(header->magic, static_cast<std::uint64_t>(STALLPROF_ACTIVITY_MAGIC));
  return std::unique_ptr<ActivityMemory>(new SharedMemory(std::move(memory.fd), header));
}

}  // namespace stallprof
