// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "event/event_out.h"
#include "sampler/proc/first_names.h"
#include "sampler/processes/live_processes.h"

namespace stallprof {

// Writes who the processes and threads of the job are: ProcessSeen and ThreadSeen, with what /proc
// says of their program, command line and name.
class ProcessAnnouncer {
 public:
  // `root` is "/" or a fixture.
  explicit ProcessAnnouncer(std::string root) : root_(std::move(root)) {}

  // From here on events go to `out`; before that there are none.
  void setOut(EventOut& out) { out_ = &out; }
  template <class P>
  void emit(Nanos at, const P& payload) {
    if (out_ != nullptr) out_->emit(at, payload);
  }

  // Reads what the process runs, when it is new and after each exec. A process that is already
  // gone, its number perhaps given to another, keeps what its events gave.
  void readImage(LiveProcess& process, ProcessWatch& watch, bool exec) const;
  // At its birth where it is new, at `now` where it is known under another image. With its threads
  // the first time.
  void announce(const LiveProcess& process, ProcessWatch& watch, Nanos now);
  // `name` empty: as /proc has it.
  void announceThread(const LiveProcess& process, const LiveThread& thread, std::string_view name);

  // Past so many different command lines a process has its program alone.
  static constexpr std::size_t kCommands = 4096;

 private:
  std::string root_;
  EventOut* out_ = nullptr;
  FirstNames commands_{kCommands};
};

}  // namespace stallprof
