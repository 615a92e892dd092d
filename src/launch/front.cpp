// SPDX-License-Identifier: MIT
#include "launch/front.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string>

#include "base/proc_numbers.h"
#include "launch/process/children.h"
#include "launch/process/inherited.h"

namespace stallprof {
namespace {

// A training that writes a checkpoint at SIGTERM ends within it, as a rule.
constexpr Nanos kOrphansLimit = std::chrono::seconds(60);
constexpr int kOrphansEvery = 20;  // milliseconds

bool has(const std::vector<pid_t>& pids, pid_t pid) {
  return std::find(pids.begin(), pids.end(), pid) != pids.end();
}

bool asksToEnd(std::uint32_t signal) {
  return (endingSignals() & signalBit(static_cast<int>(signal))) != 0;
}

ReceivedSignal describe(const signalfd_siginfo& info) {
  ReceivedSignal signal;
  signal.signal = static_cast<int>(info.ssi_signo);
  signal.sender = info.ssi_pid;
  signal.user = info.ssi_uid;
  signal.fromKernel = info.ssi_code > 0;  // SI_USER is 0, SI_QUEUE and SI_TKILL are below
  signal.senderInGroup =
      info.ssi_pid != 0 && ::getpgid(static_cast<pid_t>(info.ssi_pid)) == ::getpgrp();
  signal.queued = info.ssi_code == SI_QUEUE;
  signal.value = info.ssi_ptr;
  return signal;
}

// A child's news, not a message: only a SIGCHLD that a user sent is one.
bool isChildNews(const signalfd_siginfo& info) {
  return info.ssi_signo == SIGCHLD && info.ssi_code > 0;
}

// Sent to that process, and not taken by it yet; none where /proc does not say.
SignalMask pendingSignals(pid_t pid) {
  if (!procHasOurNumbers()) return 0;
  return std::strtoull(statusOf(pid, "ShdPnd").c_str(), nullptr, 16);
}

void deliver(pid_t command, const ReceivedSignal& signal) {
  if (!signal.queued) {
    ::kill(command, signal.signal);
    return;
  }
  siginfo_t info{};  // the value that sigqueue sent along, and its sender
  info.si_signo = signal.signal;
  info.si_code = SI_QUEUE;
  info.si_pid = static_cast<pid_t>(signal.sender);
  info.si_uid = signal.user;
  info.si_value.sival_ptr = reinterpret_cast<void*>(signal.value);
  ::syscall(SYS_rt_sigqueueinfo, command, signal.signal, &info);
}

// As by `signal`: who waits for us sees which. Returns when we are continued, or at once where the
// kernel does not stop us: process 1 and, by what a terminal sends, an orphaned group.
void stopBy(int signal) {
  if (signal == SIGSTOP) {
    ::kill(::getpid(), SIGSTOP);
    return;
  }
  struct sigaction byDefault {};
  struct sigaction before {};
  byDefault.sa_handler = SIG_DFL;
  ::sigaction(signal, &byDefault, &before);
  ::syscall(SYS_tgkill, ::getpid(), ::gettid(), signal);
  const SignalMask mask = setSignalMask(kAllSignals & ~signalBit(signal));
  setSignalMask(mask);
  ::sigaction(signal, &before, nullptr);
}

}  // namespace

Front::Front(RecorderProcess recorder, Fd signals, Supervision supervision)
    : recorder_(std::move(recorder)), signals_(std::move(signals)), supervision_(supervision) {}

void Front::beforeFork() {
  spared_ = childProcesses();
  early_ = readSignals();
  judge_.begin(recorder_.witness().counts(true));
}

void Front::giveUp() {
  for (const ReceivedSignal& signal : early_) ::kill(::getpid(), signal.signal);
}

void Front::begin(pid_t command) {
  command_ = command;
  for (const ReceivedSignal& signal : early_) pass({signal, true});
}

CommandStatus Front::waitForCommand(const std::function<void(std::string_view)>& progress) {
  Control& control = recorder_.control();
  // While the command runs it decides what a terminal stops; before and after, the kernel.
  const SignalMask mask = setSignalMask(kAllSignals);
  for (;;) {
    // What comes while we have no CPU is read in the next turn: nothing is overdue before it was
    // read, and nothing was read before it came.
    const Nanos at = now();
    receiveSignals();
    watchRecorder();
    reapOrphans();
    decide(at);
    if (!ended_) stopWithCommand();
    if (!ended_ && (ended_ = commandEnded())) setSignalMask(mask);
    killIfOverdue();
    if (ended_ && orphansEnded(*ended_)) return *ended_;
    // SIGCHLD wakes us for the command's end, the recorder for what it counted; a waiting verdict
    // needs the witness asked again.
    pollfd ready[2] = {{signals_.get(), POLLIN, 0},
                       {control.closed() ? -1 : control.fd(), POLLIN, 0}};
    ::poll(ready, 2, judge_.waiting() ? 1 : ended_ || killAt_ ? kOrphansEvery : -1);
    if (ready[1].revents == 0) continue;
    while (const auto message = control.receive())
      if (message->kind == ControlMessage::Kind::kProgress)
        progress(message->text);
      else if (message->kind == ControlMessage::Kind::kEnough)
        endCommand();
  }
}

std::vector<ReceivedSignal> Front::readSignals() {
  std::vector<ReceivedSignal> received;
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
    const auto sender = static_cast<pid_t>(info.ssi_pid);
    // SIGPIPE and SIGXFSZ are of our own doing, SIGCONT of the recorder's.
    const bool ours = sender == ::getpid() || sender == recorder_.pid();
    if (!isChildNews(info) && !ours) received.push_back(describe(info));
  }
  return received;
}

void Front::receiveSignals() {
  const std::vector<ReceivedSignal> received = readSignals();
  for (const ReceivedSignal& signal : received)
    judge_.receive(signal, now(), static_cast<std::uint32_t>(command_));
}

// What is pending at the recorder is read first: what it takes in between has been counted.
WitnessCounts Front::witnessCounts(Nanos at) const {
  const SignalMask pending = judge_.due(at) ? pendingSignals(recorder_.pid()) : 0;
  WitnessCounts counts = recorder_.witness().counts(recorderAlive_);
  counts.pending = pending;
  return counts;
}

void Front::decide(Nanos at) {
  for (const SignalJudge::Verdict& verdict : judge_.decide(witnessCounts(at), at)) pass(verdict);
}

// A command that has left our process group gets the signals of the group from us alone. Run by
// itself it would have had them all the same: `timeout` signals its child too, and the leader of
// the terminal's group cannot leave it by setpgrp(). A session of its own has no terminal.
bool Front::mustPass(const SignalJudge::Verdict& verdict) const {
  if (verdict.forward || !verdict.byGroup) return verdict.forward;
  if (::getpgid(command_) == ::getpgrp()) return false;
  return !verdict.received.fromKernel ||
         (::getpgrp() == ::getpid() && ::getsid(command_) == ::getsid(0));
}

void Front::pass(const SignalJudge::Verdict& verdict) {
  const bool forward = mustPass(verdict);
  // The command is not reaped yet, so its pid cannot be another's.
  if (forward) deliver(command_, verdict.received);
  if (verdict.received.signal == SIGCONT) continueRecorder();
  if (verdict.received.signal == SIGTERM) terminated_ = true;
  if (ended_ && asksToEnd(static_cast<std::uint32_t>(verdict.received.signal))) unwanted_ = true;
  recorder_.control().send(
      {ControlMessage::Kind::kSignal, verdict.received.signal, forward, now().count()});
}

// Where our group was stopped, and not all of it was continued.
void Front::continueRecorder() {
  siginfo_t info{};
  constexpr int kFlags = WSTOPPED | WNOHANG | WNOWAIT;
  if (::waitid(P_PID, static_cast<id_t>(recorder_.pid()), &info, kFlags) != 0 || info.si_pid == 0)
    return;
  judge_.sentToWitness(SIGCONT);
  ::kill(recorder_.pid(), SIGCONT);
}

// By which signal; 0: it runs.
int Front::commandStopped(int flags) const {
  siginfo_t info{};
  const auto command = static_cast<id_t>(command_);
  if (::waitid(P_PID, command, &info, WSTOPPED | WNOHANG | flags) != 0 || info.si_pid == 0)
    return 0;
  return info.si_status;
}

// We were continued, and a window later the command stands as we stopped with it: the SIGCONT was
// taken for one to all.
void Front::continueCommand() {
  if (!stopped_ || judge_.resumed() < *stopped_) return;
  stopped_.reset();
  siginfo_t info{};
  constexpr int kFlags = WEXITED | WSTOPPED | WCONTINUED | WNOHANG | WNOWAIT;
  if (::waitid(P_PID, static_cast<id_t>(command_), &info, kFlags) == 0 && info.si_pid == 0)
    ::kill(command_, SIGCONT);
}

// A shell takes its job for stopped when we are, and continues us. The signal that it does so by is
// judged as any other; the recorder wakes us where the command alone was continued.
void Front::stopWithCommand() {
  if (judge_.resuming(now())) return;
  continueCommand();
  if (commandStopped(WNOWAIT) == 0) return;
  recorder_.control().send({ControlMessage::Kind::kStopped, 0, true});
  receiveSignals();  // last: a SIGCONT that waits is lost by our stop
  const int signal = judge_.resuming(now()) ? 0 : commandStopped(0);
  if (signal != 0) {
    stopped_ = now();
    stopBy(signal);
  }
  recorder_.control().send({ControlMessage::Kind::kStopped, 0, false});
}

// As the user asked for; the command is not reaped yet. A launcher, or a shell, does not pass the
// signal on: what it leaves running is a child of ours from now on.
void Front::endCommand() {
  enough_ = true;
  if (!supervision_.any) ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::kill(command_, SIGTERM);
  if (supervision_.killsAfter > Nanos{}) killAt_ = now() + supervision_.killsAfter;
}

// A trial has its steps; a handler of TERM that saves at the end of an epoch would go on for hours.
void Front::killIfOverdue() {
  if (!killAt_ || ended_ || now() < *killAt_) return;
  ::kill(command_, SIGKILL);
  killAt_.reset();
}

// Nothing is left of a command that we ended, or it is not waited for any longer.
bool Front::orphansEnded(CommandStatus& command) {
  if (!enough_ || supervision_.any) return true;
  command.left = endOrphans();
  command.terminated = terminated_;
  const Nanos t = now();
  if (command.left > 0 && !unwanted_ && t - command.at < kOrphansLimit) return false;
  if (!sent_.empty()) command.at = t;
  return true;
}

std::vector<pid_t> Front::orphans() const {
  std::vector<pid_t> pids = childProcesses();
  std::erase_if(pids, [&](pid_t pid) {
    return pid == command_ || pid == recorder_.pid() || has(spared_, pid) ||
           ::waitpid(pid, nullptr, WNOHANG) == pid;
  });
  return pids;
}

// How many still run. What ends with its own parent, as workers of a loader that is writing a
// checkpoint, is not among them.
std::size_t Front::endOrphans() {
  const std::vector<pid_t> left = orphans();
  terminateOnce(left, sent_);
  return left.size();
}

void Front::watchRecorder() {
  int status = 0;
  if (!recorderAlive_) return;
  if (::waitpid(recorder_.pid(), &status, WNOHANG) == recorder_.pid()) recorderAlive_ = false;
}

// As process 1 of a container we are given everybody's orphans, and nobody else reaps them. The
// recorder's end is taken before; the command's stays for commandEnded().
void Front::reapOrphans() const {
  for (;;) {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0 ||
        info.si_pid == command_ || info.si_pid == recorder_.pid())
      return;
    ::waitpid(info.si_pid, nullptr, WNOHANG);
  }
}

std::optional<CommandStatus> Front::commandEnded() const {
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(command_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid == 0)
    return std::nullopt;
  CommandStatus status;
  (info.si_code == CLD_EXITED ? status.code : status.signal) = info.si_status;
  status.at = now();
  status.terminated = terminated_;
  status.enough = enough_;
  return status;
}

void Front::reap() {
  int status = 0;
  while (::waitpid(command_, &status, 0) < 0 && errno == EINTR) {
  }
  watchRecorder();
}

bool Front::interrupted() {
  signalfd_siginfo info{};
  bool wanted = false;
  while (::read(signals_.get(), &info, sizeof info) > 0)
    wanted = wanted || (!isChildNews(info) && asksToEnd(info.ssi_signo));
  return wanted;
}

}  // namespace stallprof
