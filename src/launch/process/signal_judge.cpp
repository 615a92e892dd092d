// SPDX-License-Identifier: MIT
#include "launch/process/signal_judge.h"

#include <algorithm>
#include <csignal>

namespace stallprof {
namespace {

// sudo's rule, for when there is no witness: the terminal and the command's own group reach the
// command without us; another user's signal is meant for it. It doubles a signal sent to the group.
bool forwardUnwitnessed(const ReceivedSignal& signal) {
  return !signal.fromKernel && !signal.senderInGroup;
}

// Whether the witness has counted more; `seen` may be one ahead.
bool unseen(std::uint32_t count, std::uint32_t seen) {
  return static_cast<std::int32_t>(count - seen) > 0;
}

}  // namespace

void SignalJudge::receive(const ReceivedSignal& signal, Nanos now, std::uint32_t command) {
  // What the command itself sends to us or to its group is no message to the command.
  if (signal.sender == command && !signal.fromKernel) return;
  if (signal.signal == SIGCONT) resumed_ = now;
  cancel(signal.signal);
  const bool merged = (behind_ & signalBit(signal.signal)) != 0;
  waiting_.push_back({signal, now, std::max(turn_, now - kStill), merged});
}

// As the kernel does with what is pending: SIGCONT takes back stops, and a stop SIGCONT. Passed on
// after the other, which the command had by itself, it would undo that.
void SignalJudge::cancel(int signal) {
  const SignalMask continues = signalBit(SIGCONT), sent = signalBit(signal);
  const SignalMask taken = sent == continues           ? kJobControl
                           : (sent & kJobControl) != 0 ? continues
                                                       : 0;
  std::erase_if(waiting_, [&](const Waiting& waiting) {
    return (signalBit(waiting.received.signal) & taken) != 0;
  });
}

// The same sender's same standard signal a moment ago, sent to all: of `timeout` and others, which
// signal their child and then its group. Had both been pending at the command, it had got one. Not
// SIGCONT: a stop may lie in between, which a lost one would make last; one too many does nothing.
bool SignalJudge::repeated(const Waiting& waiting) const {
  const ReceivedSignal& signal = waiting.received;
  const Reached& before = reached_[static_cast<std::size_t>(signal.signal)];
  return signal.signal < SIGRTMIN && signal.signal != SIGCONT && !signal.fromKernel &&
         before.sender == signal.sender && before.at > Nanos(0) &&
         waiting.since - before.at < kRepeat;
}

bool SignalJudge::witnessed(const Waiting& waiting, const WitnessCounts& counts) {
  const auto n = static_cast<std::size_t>(waiting.received.signal);
  const bool pending =
      counts.count[n] == seen_[n] && (counts.pending & signalBit(waiting.received.signal)) != 0;
  if (!pending && !unseen(counts.count[n], seen_[n])) return repeated(waiting);
  // Where it counted more, the others of ours are still to be read, or merged with this one: then
  // forgetUnmatched() passes over them.
  ++seen_[n];
  noticed_[n] = Nanos(0);
  reached_[n] = {waiting.received.sender, waiting.at};
  lastReached_ = std::max(lastReached_, waiting.at);
  return true;
}

// It may have merged with one that is pending at the witness, or was when it came: it does not
// show.
bool SignalJudge::maybeMerged(const Waiting& waiting, const WitnessCounts& counts) const {
  const auto n = static_cast<std::size_t>(waiting.received.signal);
  const bool pending = (counts.pending & signalBit(waiting.received.signal)) != 0;
  return waiting.merged || (pending && counts.count[n] != seen_[n]);
}

// A window has passed and the witness has shown none.
bool SignalJudge::forwardOverdue(const Waiting& waiting, const WitnessCounts& counts) const {
  const ReceivedSignal& signal = waiting.received;
  if (!maybeMerged(waiting, counts)) return true;
  const Reached& before = reached_[static_cast<std::size_t>(signal.signal)];
  const bool lastReached = before.at > Nanos(0) && before.sender == signal.sender;
  return !lastReached && forwardUnwitnessed(signal);
}

// Real-time signals do not merge.
void SignalJudge::noteBehind(const WitnessCounts& counts) {
  behind_ = 0;
  for (int n = 1; n < SIGRTMIN; ++n)
    if (unseen(seen_[static_cast<std::size_t>(n)], counts.count[static_cast<std::size_t>(n)]))
      behind_ |= signalBit(n);
}

// What was sent to the witness alone says nothing of a later signal to the front alone.
void SignalJudge::forgetUnmatched(const WitnessCounts& counts, Nanos now) {
  unmatched_ = false;
  for (std::size_t n = 1; counts.alive && n < kSignals; ++n) {
    if (unseen(counts.count[n], seen_[n])) {
      if (noticed_[n] == Nanos(0)) noticed_[n] = now;
      unmatched_ = unmatched_ || now - noticed_[n] <= kWindow;
      if (now - noticed_[n] <= kWindow) continue;
      seen_[n] = counts.count[n];
    }
    noticed_[n] = Nanos(0);
  }
}

bool SignalJudge::resuming(Nanos now) const {
  return now - resumed_ < kWindow ||
         std::any_of(waiting_.begin(), waiting_.end(),
                     [](const Waiting& waiting) { return waiting.received.signal == SIGCONT; });
}

bool SignalJudge::due(Nanos now) const {
  return std::any_of(waiting_.begin(), waiting_.end(),
                     [&](const Waiting& waiting) { return now >= waiting.at + kWindow; });
}

std::vector<SignalJudge::Verdict> SignalJudge::decide(const WitnessCounts& counts, Nanos now) {
  std::vector<Verdict> verdicts;
  std::vector<Waiting> still;
  for (const Waiting& waiting : waiting_) {
    const bool again = repeated(waiting);
    const bool guess = forwardUnwitnessed(waiting.received);
    if (!counts.alive)
      verdicts.push_back({waiting.received, guess, !guess});
    else if (witnessed(waiting, counts))
      verdicts.push_back({waiting.received, false, !again});
    else if (now >= waiting.at + (counts.taking ? kTaking : kWindow))
      verdicts.push_back({waiting.received, forwardOverdue(waiting, counts)});
    else
      still.push_back(waiting);
  }
  waiting_ = std::move(still);
  forgetUnmatched(counts, now);
  noteBehind(counts);
  turn_ = now;
  return verdicts;
}

}  // namespace stallprof
