// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "event/event_out.h"

namespace stallprof {

// The recorder's side of the event memory (event_memory.h): makes it, drains it, frees its slots.
class EventMemory {
 public:
  // Whose record it is. `ownerGone`, asked once a second for a slot in use, says its process ended.
  struct Identities {
    std::function<ProcessId(std::uint32_t pid, std::uint64_t startTicks)> process;
    std::function<ThreadId(ProcessId process, std::uint32_t tid)> thread;
    std::function<bool(std::uint32_t pid, std::uint64_t startTicks)> ownerGone;
  };

  // For the run whose recording is the directory `recording`; empty: for whoever has its path.
  [[nodiscard]] static Result<std::unique_ptr<EventMemory>> create(
      const std::string& recording = {});
  // Whether `path` is the memory, still open, of the run whose recording is `recording`.
  [[nodiscard]] static bool isOf(const std::string& path, const std::string& recording);
  virtual ~EventMemory() = default;

  // For the job's environment: "/proc/PID/fd/N" with `recorderPid`, the process that holds it.
  [[nodiscard]] virtual std::string path(std::uint32_t recorderPid) const = 0;
  // Moves every whole record to `out`. What a slot holds is untrusted: a record that cannot be is
  // dropped with the rest of its slot's content and counted (LossKind::kRingDamaged).
  virtual void drain(Nanos now, const Identities& identities, EventOut& out) = 0;
  virtual void close() = 0;  // writers stop from here on
};

}  // namespace stallprof
