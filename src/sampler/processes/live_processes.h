// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/fd.h"
#include "base/ids.h"
#include "base/time.h"
#include "sampler/processes/exited_processes.h"

namespace stallprof {

// A process of the job that is alive.
struct LiveProcess {
  ProcessId id, parent;
  std::uint32_t pid = 0;
  std::uint64_t startTicks = 0;
  std::string comm, exe;
  Nanos since{};
  Nanos forkedAt{};                 // as its event has it, where its start is not known
  std::vector<LiveThread> threads;  // changed by add and remove alone

  [[nodiscard]] const LiveThread* thread(std::uint32_t tid) const;
  void add(const LiveThread& thread);
  // Moves the last one into its place. False: it is not there.
  bool remove(std::uint32_t tid);

 private:
  // Above this many an index pays: 100,000 that end one by one would be searched for each time.
  static constexpr std::size_t kFew = 64;
  [[nodiscard]] std::size_t indexOf(std::uint32_t tid) const;  // threads.size(): none

  // Empty until there are more than kFew; from then on it has every thread, however few are left.
  std::unordered_map<std::uint32_t, std::uint32_t> byTid_;
};

// What the ProcessTree keeps beside a LiveProcess.
struct ProcessWatch {
  Fd taskDir;                // fstat's st_nlink - 2 is the number of threads
  std::uint64_t links = 0;   // at the last sample; 0: list the threads
  std::int64_t unheard = 0;  // threads beyond those of the events, at the last sample
  Nanos nextList{}, execAt{};
  std::uint64_t stack = 0;  // of the image that was announced
  bool suspect = false, announced = false;
  bool readable = false;  // its image was there, and not one of who has the number since
};

// The processes that are alive, each with its watch, by pid. Not ordered: removing one moves the
// last into its place. Pointers are valid until the next add or remove.
class LiveProcesses {
 public:
  [[nodiscard]] const std::vector<LiveProcess>& all() const { return processes_; }
  [[nodiscard]] std::size_t size() const { return processes_.size(); }
  [[nodiscard]] LiveProcess& at(std::size_t index) { return processes_[index]; }
  [[nodiscard]] ProcessWatch& watchAt(std::size_t index) { return watches_[index]; }

  // Null: not alive, as far as is known.
  [[nodiscard]] LiveProcess* find(std::uint32_t pid);
  [[nodiscard]] const LiveProcess* find(std::uint32_t pid) const;
  [[nodiscard]] LiveProcess* find(ProcessId id);
  // Of one of `all`.
  [[nodiscard]] ProcessWatch& watchOf(const LiveProcess& process);

  // Its pid must not be there yet.
  LiveProcess& add(LiveProcess process);
  // One of `all`.
  void remove(const LiveProcess& process);

 private:
  [[nodiscard]] std::size_t indexOf(const LiveProcess& process) const;

  std::vector<LiveProcess> processes_;
  std::vector<ProcessWatch> watches_;  // at the same index
  std::unordered_map<std::uint32_t, std::size_t> byPid_;
};

}  // namespace stallprof
