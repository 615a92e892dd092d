// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace stallprof {

// What a thread was doing when it was not on a CPU, as seen from outside. kRunning means the slice
// ended on a CPU or runnable; the exact split of the slice is in its times, not here.
// Names (below) are the spelling in traces; order is on disk: append only.
enum class Wait : std::uint8_t {
  kUnknown,
  kRunning,
  kFileRead,   // read, pread, readv, io_uring... on a file that is not ours to name otherwise
  kFileMeta,   // open, stat, getdents, close
  kFileWrite,  // write, fsync, ftruncate
  kPageFault,  // blocked outside a syscall: mapped file or swap
  kSocket,     // receive, connect, accept, or poll on a network socket
  kPipe,       // pipe, fifo, unix socket, eventfd: data between processes
  kFutex,      // lock, condition, semaphore, join
  kPoll,       // poll, select, epoll on descriptors of mixed or unknown kind
  kSleep,      // nanosleep
  kChild,      // wait4, waitid
  kDevice,     // ioctl or poll on an accelerator's device file
  kMemory,     // mmap, munmap, brk, madvise: usually the mmap lock
  kStopped,    // job control
  kOther,      // a syscall with no class
  kEventLoop,  // epoll on a network socket and on what is none: the network's, or a wake-up's
};
inline constexpr std::array<std::string_view, 17> kWaitNames = {
    "unknown", "running", "file_read", "file_meta", "file_write", "page_fault",
    "socket",  "pipe",    "futex",     "poll",      "sleep",      "child",
    "device",  "memory",  "stopped",   "other",     "event_loop"};

// The phases of a thread's time. Order is on disk.
enum class Phase : std::uint8_t {
  kUnknown,
  kExtract,
  kTransform,
  kLoad,
  kCompute,
  kSync,
  kComm,
  kPeriodic,
  kOther,
};
inline constexpr std::array<std::string_view, 9> kPhaseNames = {
    "unknown", "extract", "transform", "load", "compute", "sync", "comm", "periodic", "other"};

// Getting the data: reading, making and handing over.
[[nodiscard]] constexpr bool isOfData(Phase phase) {
  return phase == Phase::kExtract || phase == Phase::kTransform || phase == Phase::kLoad;
}

// Which witness an exact span comes from; a smaller number wins where they disagree.
enum class SpanSource : std::uint8_t { kMark, kNvtx, kHook };
inline constexpr std::array<std::string_view, 3> kSpanSourceNames = {"mark", "nvtx", "hook"};

// How much of a source this run had.
enum class Coverage : std::uint8_t { kAbsent, kPartial, kFull };
inline constexpr std::array<std::string_view, 3> kCoverageNames = {"absent", "partial", "full"};

// What a frame of a stack is. kOther: no frame but a remark about them, "(truncated)" or "(other)".
enum class FrameKind : std::uint8_t { kPython, kNative, kOther };
inline constexpr std::array<std::string_view, 3> kFrameKindNames = {"python", "native", "other"};

// What a thread had to do with its interpreter's lock at a sample.
enum class Gil : std::uint8_t {
  kUnknown,   // not seen, or a build without it
  kHolds,     // it runs Python, or native code that keeps the lock
  kWaits,     // in its queue, asleep or just woken
  kReleased,  // neither: inside native code that let it go, or blocked in a call that did
};
inline constexpr std::array<std::string_view, 4> kGilNames = {"unknown", "holds", "waits",
                                                              "released"};

// What the loop does that a place in a program's machine code lies in (machine_code/loop_code.h).
enum class LoopCode : std::uint8_t {
  kUnknown,   // in no loop, or in one that shows none of these, or several
  kProducts,  // sums products of floating-point numbers in registers
  kUpdates,   // adds such products to numbers in memory
  kBytes,     // handles single bytes, and no floating-point numbers
};
inline constexpr std::array<std::string_view, 4> kLoopCodeNames = {"unknown", "products", "updates",
                                                                   "bytes"};

// What a device was given to do. Order is on disk.
enum class DeviceWorkKind : std::uint8_t {
  kKernel,
  kCollective,  // a kernel of NCCL or its kin: its time holds the wait for the other ranks
  kGraph,       // a whole graph launch, its kernels not distinguished
  kToDevice,    // copies: host to device,
  kToHost,      // device to host,
  kOnDevice,    // within a device,
  kPeer,        // between devices
  kSet,
  kOther,
};
inline constexpr std::array<std::string_view, 9> kDeviceWorkKindNames = {
    "kernel", "collective", "graph", "to_device", "to_host", "on_device", "peer", "set", "other"};

// The host's side of a copy. Pageable memory is copied twice and blocks the calling thread.
enum class HostMemory : std::uint8_t { kUnknown, kPageable, kPinned, kManaged };
inline constexpr std::array<std::string_view, 4> kHostMemoryNames = {"unknown", "pageable",
                                                                     "pinned", "managed"};

// What a call into the driver or runtime is for.
enum class DeviceCallKind : std::uint8_t {
  kOther,
  kLaunch,
  kCopy,  // or set
  kSync,  // waits for a device, a stream or an event
  kAllocate,
};
inline constexpr std::array<std::string_view, 5> kDeviceCallKindNames = {"other", "launch", "copy",
                                                                         "sync", "allocate"};

// Every named way to lose data. Order is on disk.
enum class LossKind : std::uint8_t {
  kRingFull,        // hook or agent wrote faster than the recorder drained
  kRingSlots,       // more processes than slots in the event memory
  kRingDamaged,     // bytes in the event memory that cannot be an event
  kTickMissed,      // the sampler was late by more than a period
  kThreadsSkipped,  // the governor sampled fewer threads than there were
  kShortLived,      // processes that came and went unseen (task events absent)
  kPerfLost,        // the kernel dropped task events, or native samples (says the detail)
  kStringsFull,     // the interning budget is spent; names became "(other)"
  kDiskFull,        // ENOSPC, EDQUOT or EFBIG: a gap in the recording
  kWriteError,      // any other write error
  kFrameTorn,       // reader: bytes after the last whole frame
  kFrameDamaged,    // reader: a frame whose checksum or shape is wrong
  kSegmentMissing,  // reader: a hole in the segment numbers
  kEventUnknown,    // reader: an event kind this version does not know
  kStacksFull,      // samples of stacks that had no room left in the tree: "(other)"
  kStacksTorn,      // samples of a stack that moved too fast, or could not be believed
  kStacksSkipped,   // samples of stacks left out to hold the recorder's budget
  kDeviceDropped,   // device records that had no room: in the agent's buffers, or in the library's
  kDeviceInvalid,   // device records with times that cannot be
  kDeviceDamaged,   // bytes in the activity memory that cannot be records
  kDeviceSlots,     // processes that use a device beyond the areas of the activity memory
  kLivesFull,       // reader: records of processes and threads beyond those that a trace holds
};
inline constexpr std::array<std::string_view, 22> kLossNames = {
    "ring_full",    "ring_slots",     "ring_damaged",    "tick_missed",    "threads_skipped",
    "short_lived",  "perf_lost",      "strings_full",    "disk_full",      "write_error",
    "frame_torn",   "frame_damaged",  "segment_missing", "event_unknown",  "stacks_full",
    "stacks_torn",  "stacks_skipped", "device_dropped",  "device_invalid", "device_damaged",
    "device_slots", "lives_full"};

// How an enum's values are spelled, and one out of range: from a newer version, or from damage.
struct Spelling {
  std::span<const std::string_view> known;
  std::string_view other = known[0];
};
constexpr Spelling spellingOf(Wait) { return {kWaitNames}; }
constexpr Spelling spellingOf(Phase) { return {kPhaseNames}; }
constexpr Spelling spellingOf(SpanSource) { return {kSpanSourceNames, "unknown"}; }
constexpr Spelling spellingOf(Coverage) { return {kCoverageNames}; }
constexpr Spelling spellingOf(FrameKind) { return {kFrameKindNames, "other"}; }
constexpr Spelling spellingOf(Gil) { return {kGilNames}; }
constexpr Spelling spellingOf(LoopCode) { return {kLoopCodeNames}; }
constexpr Spelling spellingOf(DeviceWorkKind) { return {kDeviceWorkKindNames, "other"}; }
constexpr Spelling spellingOf(HostMemory) { return {kHostMemoryNames}; }
constexpr Spelling spellingOf(DeviceCallKind) { return {kDeviceCallKindNames}; }
constexpr Spelling spellingOf(LossKind) { return {kLossNames, "unknown"}; }

template <class E>
concept Spelled = requires(E value) {
  spellingOf(value);
};

// How many values this version knows.
template <Spelled E>
constexpr std::size_t knownValues(E value) {
  return spellingOf(value).known.size();
}

template <Spelled E>
[[nodiscard]] constexpr std::string_view nameOf(E value) {
  const auto i = static_cast<std::size_t>(value);
  return i < knownValues(value) ? spellingOf(value).known[i] : spellingOf(value).other;
}

// kUnknown where no phase has that name.
[[nodiscard]] constexpr Phase phaseNamed(std::string_view name) {
  for (std::size_t i = 1; i < kPhaseNames.size(); ++i)
    if (kPhaseNames[i] == name) return static_cast<Phase>(i);
  return Phase::kUnknown;
}

}  // namespace stallprof
