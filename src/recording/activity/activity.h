// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "event/event_out.h"
#include "recording/memory/ring.h"

namespace stallprof {

// The recorder's side of the activity memory (activity_memory.h): makes it, drains it into device
// events, frees its areas. Costs nothing but 16 small reads twice a second until a process of the
// job uses a GPU; holds no page of the buffers in its own memory. One thread.
class ActivityMemory {
 public:
  // `inWindows`: agents record nothing but in windows, and nothing where none can begin.
  [[nodiscard]] static Result<std::unique_ptr<ActivityMemory>> create(bool inWindows = false);
  virtual ~ActivityMemory() = default;

  // For the job's environment: "/proc/PID/fd/N" with `recorderPid`, the process that holds it.
  [[nodiscard]] virtual std::string path(std::uint32_t recorderPid) const = 0;
  // Writes all that is drained from now on into this file too, for replayActivity.
  [[nodiscard]] virtual Status keep(const std::string& file) = 0;
  // Takes what the agents have handed over. What it cannot be is counted (LossKind::kDevice...).
  virtual void drain(Nanos now, const EventMemory::Identities& identities, EventOut& out) = 0;
  // The last drain: what CUPTI still held of processes that ended is read as well.
  virtual void finish(Nanos now, const EventMemory::Identities& identities, EventOut& out) = 0;
  virtual void close() = 0;  // agents stop from here on
};

// Puts out again, with the times of then, what was drained while `file` was written.
[[nodiscard]] Status replayActivity(const std::string& file,
                                    const EventMemory::Identities& identities, EventOut& out);

}  // namespace stallprof
