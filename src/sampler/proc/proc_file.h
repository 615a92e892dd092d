// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/fd.h"
#include "event/event_out.h"

namespace stallprof {

// How many descriptors a sampler may keep open: a share of the soft RLIMIT_NOFILE. The shares of
// all samplers together stay below three quarters of it (a half, where threads have no events of
// their own), so that the recording never lacks one.
[[nodiscard]] std::size_t keptFdLimit(double share);

// Counts the descriptors kept open by one sampler.
class FdBudget {
 public:
  explicit FdBudget(std::size_t limit) : limit_(limit) {}
  [[nodiscard]] bool full() const { return used_ >= limit_; }
  void take() { ++used_; }
  void give() { --used_; }

 private:
  std::size_t limit_;
  std::size_t used_ = 0;
};

// A small file read again and again. The descriptor is kept while the budget allows (a pread costs
// a sixth of open+read+close on procfs); it stays pinned to the task it was opened for, so a reused
// pid can never answer for the old one.
class KeptFile {
 public:
  KeptFile() = default;
  KeptFile(KeptFile&&) = default;
  KeptFile& operator=(KeptFile&&) = default;

  // The content, in `buffer`; empty on any error, with errno set (0 when the file is just empty).
  [[nodiscard]] std::string_view read(const std::string& path, std::span<char> buffer,
                                      FdBudget& budget);
  [[nodiscard]] bool kept() const { return fd_.valid(); }
  void close(FdBudget& budget);

 private:
  Fd fd_;
};

// Files of the host and of control groups, read again and again by path. A descriptor is kept while
// fewer than `limit` are; what fails is reopened: a control group is removed, and one of the
// same name made.
class KeptFiles {
 public:
  explicit KeptFiles(std::size_t limit) : limit_(limit) {}

  // The whole content, at most `bytes`; empty where it cannot be read, with errno set.
  [[nodiscard]] std::string read(const std::string& path, std::size_t bytes = 1u << 20);
  void closeAll() { files_.clear(); }

 private:
  std::size_t limit_;
  std::unordered_map<std::string, Fd> files_;
};

// Joins a root directory and an absolute path: ("/", "/proc") and ("/", "proc") are "/proc".
[[nodiscard]] std::string under(const std::string& root, std::string_view path);
// Whether an absolute path is that directory or leads below it.
[[nodiscard]] bool isBelow(std::string_view path, std::string_view directory);
[[nodiscard]] std::string processPath(const std::string& root, std::uint32_t pid,
                                      std::string_view file);
// Opens a regular file that a process has mapped, by its path in maps. That is the process's own
// path, unless it has only another root directory, with mounts as we have (chroot): then it is
// ours, which the inode has to confirm. Not valid: errno says why.
[[nodiscard]] Fd openMapped(const std::string& root, std::uint32_t pid, std::string_view path,
                            std::uint64_t inode);
[[nodiscard]] std::string threadPath(const std::string& root, std::uint32_t pid, std::uint32_t tid,
                                     std::string_view file);

// Whether the error says that we are short of descriptors or memory, and nothing of the file: it
// may be there all the same.
[[nodiscard]] bool lacksMeans(int error);

// Calls `use` for each entry of a directory that is a number: processes, threads, descriptors.
// False: the directory cannot be read.
bool forEachNumber(const std::string& directory, const std::function<void(std::uint32_t)>& use);

// readlink, bounded; empty on error with errno set.
[[nodiscard]] std::string readLink(const std::string& path);

// The whole of a small file; empty where it cannot be read, with errno set.
[[nodiscard]] std::string contentOf(const std::string& path, std::size_t limit = 1u << 20);

// True for "/": only there may clocks and perf be asked, a fixture's pids are not this host's.
[[nodiscard]] inline bool isLive(const std::string& root) { return root == "/" || root.empty(); }

void emitSource(EventOut& out, Nanos now, std::string_view name, Coverage state,
                std::string_view why = {});

}  // namespace stallprof
