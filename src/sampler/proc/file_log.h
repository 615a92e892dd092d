// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "event/event_out.h"
#include "sampler/proc/first_names.h"
#include "sampler/proc/mounts.h"
#include "sampler/proc/wait_class.h"

namespace stallprof {

// A descriptor of the job, as far as it can be known without its memory.
struct FdTarget {
  FdKind kind = FdKind::kUnknown;
  std::string name;  // path, or "pipe", "unix", "tcp", ...
  std::int64_t size = -1, offset = -1;
};

// The last read that a thread was seen blocked in.
struct ReadPlace {
  std::size_t file = 0;  // hash of its path
  std::int64_t offset = -1;
  Nanos at{};
};

// Finds out what a descriptor is: readlink, and only where that is not enough stat (never on a
// remote mount: it may hang), the socket's protocol, or fdinfo. About 2 us; call it once a blocking
// episode.
class FdClassifier {
 public:
  FdClassifier(std::string root, Mounts& mounts) : root_(std::move(root)), mounts_(mounts) {}
  [[nodiscard]] FdTarget sample(std::uint32_t pid, std::uint64_t fd, Nanos now);

 private:
  void inspectFile(FdTarget& target, std::uint32_t pid, std::uint64_t fd, Nanos now);
  void inspectSocket(FdTarget& target, std::uint32_t pid, std::uint64_t fd, std::string_view link);
  void inspectEpoll(FdTarget& target, std::uint32_t pid, std::uint64_t fd, Nanos now);
  [[nodiscard]] bool inTable(std::uint32_t pid, std::string_view table, std::string_view inode);

  std::string root_;
  Mounts& mounts_;
  std::unordered_map<std::string, FdKind> sockets_;  // "socket:[inode]": inodes are not reused soon
  bool nested_ = false;
};

// Files that threads were seen blocked in. Each gives a FileSeen at most once a second, all files
// together kPerSecond; a directory with more than kNamed files seen gives slices the name "DIR/*",
// or a data set of a million pictures would fill the recording with their names.
class FileLog {
 public:
  static constexpr std::size_t kNamed = 64;
  static constexpr int kPerSecond = 20;
  // Past so many a file is one of its mount.
  static constexpr std::size_t kPaths = 32'768, kNames = 4096;

  explicit FileLog(Mounts& mounts) : mounts_(mounts) {}
  // Notes one sample and returns the name for the slice.
  StringId waited(ProcessId process, const FdTarget& file, Nanos now, EventOut& out);
  // The same of a read at `file.offset`, which `last`, of the same thread, is compared with.
  StringId read(ProcessId process, const FdTarget& file, ReadPlace& last, Nanos now, EventOut& out);
  // Notes a file that is open, without a wait.
  void held(ProcessId process, const FdTarget& file, Nanos now, EventOut& out);

 private:
  struct Entry {
    Nanos reported{-1};
    std::uint32_t waits = 0, onward = 0, scattered = 0;
  };
  void note(ProcessId process, const FdTarget& file, const Entry& more, Nanos now, EventOut& out);
  bool mayReport(Nanos now);
  [[nodiscard]] std::string shortName(const std::string& path) const;
  // `name` where it is one of `given`, else all that there is of its mount.
  [[nodiscard]] std::string oneOf(FirstNames& given, const std::string& name, Nanos now);

  Mounts& mounts_;
  std::unordered_map<std::string, Entry> files_;  // of this second or reported before; bounded
  std::unordered_map<std::string, std::uint32_t> directories_;  // files seen there; bounded
  FirstNames paths_{kPaths}, names_{kNames};
  Nanos second_{};
  int reported_ = 0;
};

}  // namespace stallprof
