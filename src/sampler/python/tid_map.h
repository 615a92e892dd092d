// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

namespace stallprof::python {

// The thread numbers of a process as it counts them itself, which differ from ours where it is in a
// pid namespace of its own.
class TidMap {
 public:
  // Reads the numbers of process `pid` below `root` ("/" or a fixture).
  void read(const std::string& root, std::uint32_t pid);
  void clear() { hostTids_.clear(); }

  // The process counts as we do.
  [[nodiscard]] bool same() const { return same_; }
  // Of its thread `tid`, our number; 0: not a thread of it. Where both count alike `tid` itself,
  // unchecked.
  [[nodiscard]] std::uint32_t hostTid(std::uint32_t tid) const;

 private:
  std::unordered_map<std::uint32_t, std::uint32_t> hostTids_;  // by tid in its own pid namespace
  bool same_ = true;
};

}  // namespace stallprof::python
