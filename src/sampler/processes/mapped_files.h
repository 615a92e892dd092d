// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/time.h"

namespace stallprof {

// The data file that a process has mapped, which a thread that is blocked in a page fault waits
// for: /proc does not say where a fault was, but mostly there is one. /proc/PID/maps takes a
// millisecond, so it is read when a process was seen in a fault, and again after ten seconds.
class MappedFiles {
 public:
  struct File {
    std::string path;         // "": none, or several of which none stands out
    std::int64_t bytes = -1;  // mapped
  };

  explicit MappedFiles(std::string root) : root_(std::move(root)) {}
  [[nodiscard]] const File& of(std::uint32_t pid, Nanos now);
  // The file with nine tenths of what is mapped of files, in maps of 1 MB and more: no programs and
  // libraries (of which a part is executable), no shared memory.
  [[nodiscard]] static File largest(std::string_view maps);

 private:
  struct Known {
    Nanos read{-1};
    File file;
  };
  std::string root_;
  std::unordered_map<std::uint32_t, Known> processes_;  // bounded
};

}  // namespace stallprof
