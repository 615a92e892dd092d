// SPDX-License-Identifier: MIT
#include "launch/process/signal_judge.h"

#include <csignal>

namespace stallprof {
namespace {

// sudo's rule, for when there is no witness: the terminal and the command's own group reach the
// command without us; another user's signal is meant for it. It doubles a signal sent to the group.
bool forwardUnwitnessed(const ReceivedSignal& signal) {
  return !signal.fromKernel && !signal.senderInGroup;
}

}  // namespace

void SignalJudge::receive(const ReceivedSignal& signal, Nanos now, std::uint32_t command) {
  // What the command itself sends to us or to its group is no message to the command.
  if (signal.sender == command && !signal.fromKernel) return;
  waiting_.push_back({signal, now});
}

// The same sender's same standard signal a moment ago, sent to all: of `timeout` and others, which
// signal their child and then its group. Had both been pending at the command, it had got one.
bool SignalJudge::repeated(const Waiting& waiting) const {
  const ReceivedSignal& signal = waiting.received;
  const Reached& before = reached_[static_cast<std::size_t>(signal.signal)];
  return signal.signal < SIGRTMIN && !signal.fromKernel && before.sender == signal.sender &&
         before.at > Nanos(0) && waiting.at - before.at < kRepeat;
}

bool SignalJudge::witnessed(const Waiting& waiting, const WitnessCounts& counts) {
  const auto n = static_cast<std::size_t>(waiting.received.signal);
  if (counts.count[n] == seen_[n]) return repeated(waiting);
  if (counts.last[n] < waiting.at - kWindow) {  // an old one, sent to the witness alone
    seen_[n] = counts.count[n];
    return false;
  }
  // Standard signals merge while they wait, so one of ours may stand for several of the witness's;
  // real-time signals queue one by one.
  seen_[n] = waiting.received.signal >= SIGRTMIN ? seen_[n] + 1 : counts.count[n];
  reached_[n] = {waiting.received.sender, waiting.at};
  return true;
}

std::vector<SignalJudge::Verdict> SignalJudge::decide(const WitnessCounts& counts, Nanos now) {
  std::vector<Verdict> verdicts;
  std::vector<Waiting> still;
  for (const Waiting& waiting : waiting_) {
    if (!counts.alive)
      verdicts.push_back({waiting.received, forwardUnwitnessed(waiting.received)});
    else if (witnessed(waiting, counts))
      verdicts.push_back({waiting.received, false});
    else if (now >= waiting.at + kWindow)
      verdicts.push_back({waiting.received, true});
    else
      still.push_back(waiting);
  }
  waiting_ = std::move(still);
  return verdicts;
}

}  // namespace stallprof
