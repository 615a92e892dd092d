// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "launch/process/inherited.h"

namespace stallprof {

inline constexpr int kSignals = 65;  // 1..64; index 0 is unused

// How often each signal reached the witness so far.
struct WitnessCounts {
  std::array<std::uint32_t, kSignals> count{};
  SignalMask pending = 0;  // sent to it and not counted yet: it stands still. Asked for when due
  bool taking = false;     // it stands still between taking a signal and counting it
  bool alive = false;      // false: dead, what it counts means nothing
};

struct ReceivedSignal {
  int signal = 0;
  std::uint32_t sender = 0;    // pid; 0 from the kernel
  std::uint32_t user = 0;      // its user
  bool fromKernel = false;     // the terminal, a timer: si_code is not a user's
  bool senderInGroup = false;  // the sender is of our own process group
  bool queued = false;         // sigqueue: `value` goes along
  std::uint64_t value = 0;
};

// Decides which signals the front passes on, so that the command gets each exactly once.
//
// A signal sent to the process group, or to every pid of a job step, reaches the command by itself;
// one sent to the front's pid does not. Both are the same here. The witness, a process of the same
// group and session, distinguishes them: what it gets too within the window was sent to all. Who
// sends a standard signal to the front and to all within kRepeat has sent it once.
//
// A signal has no time of arrival, and a host without CPU for one of the two delays what it reads.
// So what the witness counted stands until the front, awake, has waited a window for its own; and
// what is pending at the witness is as good as counted. Where one may have merged at the witness
// with an earlier one that was still pending, it went where its sender's last one did. Pure: no
// clock, no descriptor.
class SignalJudge {
 public:
  // Senders of "every pid" were measured 0-20 ms apart; 50 ms keeps a lone TERM within 60 ms.
  static constexpr Nanos kWindow = std::chrono::milliseconds(50);
  // How long a signal waits for a witness that is taking one.
  static constexpr Nanos kTaking = std::chrono::milliseconds(500);
  // `timeout` signals its child and then its group: microseconds apart, or a few turns of others on
  // a busy CPU. Of how far apart the two came the front knows that the second came after its last
  // turn without it: one that had no CPU for up to kStill takes two for one, as the kernel does.
  // With a window in its place 7 of 10,000 came twice, at a load of 5 on two CPUs.
  static constexpr Nanos kRepeat = std::chrono::milliseconds(20);
  static constexpr Nanos kStill = std::chrono::milliseconds(500);

  struct Verdict {
    ReceivedSignal received;
    bool forward = false;
    bool byGroup = false;  // the command had it by itself if it is of our group still; not a repeat
  };

  // Signals the witness had before the command existed say nothing about the command.
  void begin(const WitnessCounts& counts) { seen_ = counts.count; }
  void receive(const ReceivedSignal& signal, Nanos now, std::uint32_t command);
  // We have sent one to the witness alone.
  void sentToWitness(int signal) { ++seen_[static_cast<std::size_t>(signal)]; }
  // A SIGCONT came that may reach the command only now: that it is stopped is no news.
  [[nodiscard]] bool resuming(Nanos now) const;
  // When the last SIGCONT came.
  [[nodiscard]] Nanos resumed() const { return resumed_; }
  // What is decided by now, in order of arrival. Called whenever the witness has counted, too.
  [[nodiscard]] std::vector<Verdict> decide(const WitnessCounts& counts, Nanos now);
  // Something will be decided by time alone.
  [[nodiscard]] bool waiting() const {
    return !waiting_.empty() || unmatched_ || turn_ - lastReached_ < kRepeat ||
           turn_ - resumed_ < kWindow;
  }
  // A window is over: the next call of decide() may pass a signal on.
  [[nodiscard]] bool due(Nanos now) const;

 private:
  struct Waiting {
    ReceivedSignal received;
    Nanos at{};
    Nanos since{};        // it came after
    bool merged = false;  // when it came, an earlier one was pending at the witness
  };
  struct Reached {
    std::uint32_t sender = 0;
    Nanos at{};
  };
  void cancel(int signal);
  [[nodiscard]] bool witnessed(const Waiting& waiting, const WitnessCounts& counts);
  [[nodiscard]] bool repeated(const Waiting& waiting) const;
  [[nodiscard]] bool maybeMerged(const Waiting& waiting, const WitnessCounts& counts) const;
  [[nodiscard]] bool forwardOverdue(const Waiting& waiting, const WitnessCounts& counts) const;
  void noteBehind(const WitnessCounts& counts);
  void forgetUnmatched(const WitnessCounts& counts, Nanos now);

  std::array<std::uint32_t, kSignals> seen_{};  // one ahead of a count that is pending
  std::array<Nanos, kSignals> noticed_{};       // a count without one of ours, when first; 0: none
  bool unmatched_ = false;                      // there is one
  SignalMask behind_ = 0;                       // seen as pending, and not counted by last turn
  std::array<Reached, kSignals> reached_{};     // the last of each that the command had by itself
  Nanos lastReached_ = -kRepeat;                // of them
  Nanos resumed_ = -kWindow;                    // the last SIGCONT
  Nanos turn_{};                                // the last time that anything was decided
  std::vector<Waiting> waiting_;
};

}  // namespace stallprof
