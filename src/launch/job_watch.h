// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>

#include "event/event_out.h"
#include "recording/ring.h"

namespace stallprof {

// Every sampler of a run, made for one command: the only file of the launcher that knows them by
// name.
class JobWatch {
 public:
  struct Wishes {
    unsigned hz = 100;      // looks a second at a thread
    bool python = true;     // read the stacks of Python threads
    bool native = true;     // sample what threads execute
    bool counters = false;  // count the CPUs' events
    Nanos attachedAt{};     // the command runs already: nothing is known of it before; 0: held
  };
  JobWatch(pid_t command, const Wishes& wishes);
  ~JobWatch();

  // While the command is still held: opens the inherited task events on it, and takes a first look.
  // Where it runs already: what can be opened on every thread that it has by now.
  void arm(EventOut& out);
  [[nodiscard]] Nanos nextDue() const;
  void step(Nanos now, EventOut& out);
  // The command ended: what samplers still hold back.
  void finish(Nanos now, EventOut& out);

  [[nodiscard]] EventMemory::Identities identities();
  // Processes of the job still running, the command's own not counted.
  [[nodiscard]] std::int64_t outlived() const;
  [[nodiscard]] std::uint32_t milliHz() const;

 private:
  struct Parts;
  void open();
  void openRunning();
  std::unique_ptr<Parts> parts_;
  Wishes wishes_;
};

}  // namespace stallprof
