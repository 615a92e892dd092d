// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

#include "event/vocabulary.h"

// What a system call or a kernel wait channel says about a blocked thread. Pure tables.
namespace stallprof {

enum class CallKind : std::uint8_t {
  kOther,
  kFdRead,   // by the kind of the descriptor
  kFdWrite,  // by the kind of the descriptor
  kFdAny,    // ioctl: by the kind of the descriptor, kOther where it says nothing
  kFileMeta,
  kFileSync,
  kAsyncRead,  // io_uring_enter, io_getevents
  kSocket,     // accept, connect: sockets by their nature, unix or not by the descriptor
  kPoll,       // poll, select: the descriptors are in the job's memory
  kEpoll,      // the descriptors are listed in fdinfo
  kFutex,
  kSleep,
  kChild,
  kMemory,
  kYield,  // gives up the CPU, waits for nothing
};

struct CallClass {
  CallKind kind = CallKind::kOther;
  std::string_view name;      // empty: not in the table
  std::uint8_t fdArg = 0;     // which argument is the descriptor
  std::int8_t countArg = -1;  // kPoll: which argument counts descriptors; 0 of them is a sleep
  std::int8_t placeArg = -1;  // which argument is the offset in the file; else the descriptor's own
  std::int8_t flagsArg = -1;  // which argument says whether what is opened is for writing
};

// Of this machine's own system call numbers; a 32-bit program's are not known and read as kOther
// or as another call.
[[nodiscard]] CallClass classOfCall(std::int64_t number);

// "0" and "" are kUnknown. Names drift between kernels, so they are matched by prefix.
[[nodiscard]] Wait waitOfChannel(std::string_view wchan);

// What a descriptor is.
enum class FdKind : std::uint8_t {
  kUnknown,
  kFile,
  kSharedMemory,  // /dev/shm, memfd
  kPipe,          // pipe, fifo, eventfd
  kUnixSocket,
  kSocket,  // inet, netlink and the rest
  kDevice,  // an accelerator
  kEpoll,
  kEventLoop,  // an epoll of sockets among others
  kTimer,
  kOther,  // terminals and other devices, inotify, ...
};

// From the target of /proc/PID/fd/N. A socket is kUnknown: its name does not give its family. A
// path is kFile: that it is no fifo needs a stat.
[[nodiscard]] FdKind kindOfLink(std::string_view target);

[[nodiscard]] Wait waitOf(CallKind call, FdKind fd);

}  // namespace stallprof
