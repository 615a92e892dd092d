// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "launch/process/signal_judge.h"
#include "launch/recorder/recorder_process.h"

namespace stallprof {

// How the command ended.
struct CommandStatus {
  int code = -1, signal = -1;  // one of them is -1
  Nanos at{};
  bool terminated = false;  // SIGTERM was passed on: whoever sent it is waiting
  bool enough = false;      // it was sent SIGTERM by us, after the steps that it was to make
  std::size_t left = 0;     // then: processes that it left, and that still run
};

// Of a run that another program of ours started.
struct Supervision {
  bool any = false;    // it ends what the command leaves
  Nanos killsAfter{};  // a command that does not end by the TERM that we sent it; 0: never
};

// The waiting side: passes signals on to the command exactly once, stops when the command stops,
// keeps the recorder informed, and never acts on the command in any other way, unless it was asked
// to end it after some steps. One thread, no allocation that matters.
class Front {
 public:
  // `signals`: a signalfd of every signal that is blocked here.
  Front(RecorderProcess recorder, Fd signals, Supervision supervision);

  RecorderProcess& recorder() { return recorder_; }
  // Right before the command is forked: what arrived until here cannot have reached it.
  void beforeFork();
  // There will be no command: that waits again, blocked, for what this process becomes.
  void giveUp();
  // Right after: passes that on.
  void begin(pid_t command);
  // Returns when the command has ended; where we ended it, what it left running, too, a minute
  // later, or once someone wants us gone. Its process is kept as a zombie, so that the recorder can
  // still read its last counters; `reap` lets it go. `progress` is given what the recorder says
  // meanwhile.
  [[nodiscard]] CommandStatus waitForCommand(const std::function<void(std::string_view)>& progress);
  void reap();
  // Between the command's end and ours: true once if someone wants us gone.
  [[nodiscard]] bool interrupted();
  // After reap: reaps the recorder if it has ended by now; true while it has not.
  [[nodiscard]] bool recorderGoes() {
    watchRecorder();
    return recorderAlive_;
  }
  // Its socket is closed some time before its end can be waited for.
  [[nodiscard]] bool recorderAlive() const {
    return recorderAlive_ && !recorder_.control().closed();
  }
  [[nodiscard]] int signalFd() const { return signals_.get(); }

 private:
  [[nodiscard]] std::vector<ReceivedSignal> readSignals();
  void receiveSignals();
  [[nodiscard]] WitnessCounts witnessCounts(Nanos at) const;
  void decide(Nanos at);
  [[nodiscard]] bool mustPass(const SignalJudge::Verdict& verdict) const;
  void pass(const SignalJudge::Verdict& verdict);
  void continueRecorder();
  void stopWithCommand();
  void continueCommand();
  void endCommand();
  void killIfOverdue();
  void watchRecorder();
  void reapOrphans() const;
  [[nodiscard]] int commandStopped(int flags) const;
  [[nodiscard]] std::optional<CommandStatus> commandEnded() const;
  bool orphansEnded(CommandStatus& command);
  std::size_t endOrphans();
  [[nodiscard]] std::vector<pid_t> orphans() const;

  RecorderProcess recorder_;
  pid_t command_ = 0;
  Fd signals_;
  SignalJudge judge_;
  std::vector<ReceivedSignal> early_;
  bool recorderAlive_ = true, terminated_ = false, enough_ = false;
  Supervision supervision_;
  std::optional<Nanos> killAt_;  // the command, which we asked to end
  bool unwanted_ = false;
  std::optional<Nanos> stopped_;        // with the command, and not known to go on together
  std::optional<CommandStatus> ended_;  // the command; what it left may still run
  std::vector<pid_t> spared_;           // children that we had before the command
  std::vector<pid_t> sent_;             // orphans of the command that were sent SIGTERM
};

}  // namespace stallprof
