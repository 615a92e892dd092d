// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/trace.h"

namespace stallprof {

// kProducer: a thread of a trainer's own process that makes its data (producer_threads.h).
enum class Role : std::uint8_t { kHelper, kTrainer, kWorker, kPin, kFeeder, kProducer };
inline constexpr std::array<std::string_view, 6> kRoleNames = {"helper", "trainer", "worker",
                                                               "pin",    "feeder",  "producer"};
[[nodiscard]] constexpr std::string_view nameOf(Role role) {
  return kRoleNames[static_cast<std::size_t>(role)];
}

// A process that steps, and the thread of it that does.
struct TrainerIdentity {
  ProcessId process;
  ThreadId thread;
};

// Who is who in a run.
struct Roles {
  std::vector<TrainerIdentity> trainers;  // by process id: order of appearance
  std::vector<Role> processes, threads;   // index = id - 1

  // One more, which exists in the trace.
  void addTrainer(TrainerIdentity who) {
    trainers.push_back(who);
    processes[who.process.value - 1] = Role::kTrainer;
    threads[who.thread.value - 1] = Role::kTrainer;
  }

  [[nodiscard]] Role of(ProcessId id) const {
    return id.none() || id.value > processes.size() ? Role::kHelper : processes[id.value - 1];
  }
  [[nodiscard]] Role of(ThreadId id) const {
    return id.none() || id.value > threads.size() ? Role::kHelper : threads[id.value - 1];
  }
};

// A trainer has optimizer steps; in a run where nothing has, it has fetches. A process that
// annotates steps by marks or ranges is a trainer too, and where none does, one that annotates
// compute. A worker said so, or is named like one. A worker's feeder is the thread that came when
// its first batch was ready; the pin thread is known by name. All else helps.
[[nodiscard]] Roles findRoles(const Trace& trace);

// The thread of a trainer's process that pins batches, by the name that PyTorch 2 gives it.
[[nodiscard]] bool pinsBatches(const Trace& trace, const ThreadLife& thread);

}  // namespace stallprof
