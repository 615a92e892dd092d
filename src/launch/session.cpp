// SPDX-License-Identifier: MIT
#include "launch/session.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>

#include "base/proc_numbers.h"
#include "base/text.h"
#include "base/units.h"
#include "launch/ending.h"
#include "launch/front.h"
#include "launch/process/descriptors.h"
#include "launch/process/inherited.h"
#include "launch/process/terminal.h"
#include "launch/recorder/recorder_process.h"
#include "launch/setup/child_environment.h"
#include "launch/setup/held_command.h"
#include "launch/setup/recording_place.h"

namespace stallprof {
namespace {

constexpr int kOwnFailure = 125;
constexpr Nanos kArmLimit = std::chrono::seconds(2);
constexpr Nanos kFinishLimit = std::chrono::seconds(2);
constexpr Nanos kFinishLimitOfChange = std::chrono::seconds(30);  // where that is to be known
constexpr Nanos kInterruptible = std::chrono::milliseconds(100);
// Whoever sent SIGTERM has the status within 2 s of the command's end.
constexpr Nanos kFinishLimitInHurry = std::chrono::milliseconds(1500);
// The recorder is waited for, so that whoever is init here gets no zombie; but an ending has 100 ms
// in all. The kernel takes 45 ms to close a tracepoint of the recorder, on a busy machine more.
constexpr Nanos kRecorderLimit = std::chrono::milliseconds(80);

constexpr char kUnrecorded[] = "; the command runs unrecorded";
constexpr char kNotChanged[] =
    "; nothing was started, because the changes of --set and similar options cannot be applied";

int fail(const std::string& line) {
  printLine(line);
  return kOwnFailure;
}

// Its starter asks whether it made its steps, and not how the program takes our TERM.
bool isTrial() { return std::getenv(kSupervisedVariable) != nullptr; }

Supervision supervision() {
  const char* const seconds = std::getenv(kSupervisedVariable);
  if (seconds == nullptr) return {};
  return {true, std::chrono::seconds(std::clamp(std::atoi(seconds), 0, 3600))};
}

// Ended by the signal that we sent, or by what a shell makes of it.
bool asAsked(const CommandStatus& status) {
  return status.enough && (isTrial() || status.signal == SIGTERM || status.code == 128 + SIGTERM);
}

std::string whyNotChanged(const Overrides& overrides) {
  std::string names, why;
  const auto add = [&](const std::string& cause) { why += (why.empty() ? "" : ", or ") + cause; };
  for (const auto& [name, value] : overrides.settings) names += (names.empty() ? "" : ", ") + name;
  if (!names.empty()) add("it made nothing that takes " + names);
  if (overrides.replay > 0)
    add("no such loader gave the " + std::to_string(overrides.replay) + " batches of --replay");
  if (overrides.drain > 0) add("it made no such loader, or read none with gradients on");
  return why;
}

// Reached only when exec failed.
int runUnrecorded(const std::vector<std::string>& command, const Inherited* inherited) {
  if (inherited != nullptr) inherited->restore();
  const int error = execUntouched(command);
  printLine(execFailureText(command[0], error));
  return execFailureStatus(error);
}

// What is left to do where no memory can be had, which may be found out anywhere: to run the
// command unrecorded or, where it runs already, to end as it does. Nothing here allocates.
struct LastResort {
  std::vector<char*> command;  // a null at its end
  const Inherited* inherited = nullptr;
  pid_t front = 0, recorder = 0, held = 0;
  bool started = false;  // `held` was let go
};
LastResort lastResort;

[[noreturn]] void withoutMemory() {
  if (::getpid() != lastResort.front) ::_exit(1);  // the recorder, or the command's process
  if (!lastResort.started) {
    for (const pid_t child : {lastResort.recorder, lastResort.held})
      if (child > 0 && ::kill(child, SIGKILL) == 0) ::waitpid(child, nullptr, 0);
    writeError("stallprof: no memory; the command runs unrecorded\n");
    if (lastResort.inherited != nullptr) lastResort.inherited->restore();
    ::execvp(lastResort.command[0], lastResort.command.data());
    ::_exit(execFailureStatus(errno));
  }
  writeError("stallprof: no memory; the recording goes on without a report\n");
  int status = 0;
  while (::waitpid(lastResort.held, &status, 0) < 0 && errno == EINTR) {
  }
  endAs(WEXITSTATUS(status), WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  ::_exit(kOwnFailure);
}

void prepareForNoMemory(const std::vector<std::string>& command) {
  lastResort.command = pointers(command);
  lastResort.front = ::getpid();
  std::set_new_handler(&withoutMemory);
}

// One run, in the order in which it happens.
class Session {
 public:
  Session(const LaunchOptions& options, std::vector<std::string> environment, std::string recording)
      : options_(options),
        environment_(std::move(environment)),
        recording_(std::move(recording)),
        inherited_(Inherited::take()) {
    lastResort.inherited = &inherited_;
  }

  int run();

 private:
  std::optional<int> startRecorder();
  void planAgent(RecorderPlan& plan);
  std::optional<int> startCommand();
  void closeUnused();
  void finishRecording(const CommandStatus& status);
  std::optional<ControlMessage> awaitClosed();
  void printEnd(const CommandStatus& status, const std::optional<ControlMessage>& closed) const;
  int unrecorded(const std::string& why);
  [[nodiscard]] int statusOf(const CommandStatus& status) const;

  const LaunchOptions& options_;
  std::vector<std::string> environment_;
  std::string recording_;
  Inherited inherited_;
  Injection injection_;
  std::optional<Front> front_;
  Nanos started_{};
  std::string notApplied_;  // what was to be changed in the command and was not; empty: nothing
};

int Session::unrecorded(const std::string& why) {
  if (options_.overrides.any()) return fail(why + kNotChanged);
  printLine(why + kUnrecorded);
  return runUnrecorded(options_.command, &inherited_);
}

// A tool the user has asked for comes first: CUPTI serves one in a process.
void Session::planAgent(RecorderPlan& plan) {
  const bool gpu = options_.gpu != GpuTracing::kOff;
  if (!gpu && ::access("/dev/nvidiactl", F_OK) == 0)
    plan.noAgent = "not asked for: run --gpu traces CUDA and NVTX from inside";
  if (!gpu && !options_.nvtx) return;
  if (!procHasOurNumbers()) {
    (gpu ? plan.noAgent : plan.noNvtx) = kForeignProc;
    return;
  }
  if (gpu) plan.noAgent = foreignInjection(environment_, kCudaVariable);
  if (gpu && !plan.noAgent.empty()) plan.noAgent += ": left as it is, GPU work is not traced";
  plan.noNvtx = foreignInjection(environment_, kNvtxVariable);
  if (!plan.noNvtx.empty()) plan.noNvtx += ": left as it is, NVTX ranges are not seen";
  auto agent = findAgent();
  if (!agent.ok()) {
    (gpu ? plan.noAgent : plan.noNvtx) = agent.error().message;
    return;
  }
  plan.agent = gpu;
  injection_.agent = std::move(agent).value();
  plan.keepActivity = valueOf(environment_, kKeepActivityVariable);
}

// Where recording is impossible the command runs without it; where the place that the user chose
// cannot be written, the user chooses again.
std::optional<int> Session::startRecorder() {
  RecorderPlan plan = makePlan(options_, environment_, recording_);
  if (!options_.python) {
    plan.noHook = "switched off with --no-python";
  } else if (!procHasOurNumbers()) {
    plan.noHook = kForeignProc;  // the memory that it writes to is found there
  } else if (auto hook = findHook(); hook.ok()) {
    injection_.hookDirectory = std::move(hook).value();
  } else {
    plan.noHook = hook.error().message;
  }
  if (options_.overrides.needHook() && !plan.noHook.empty())
    return fail("the hook cannot be used: " + plan.noHook + kNotChanged);
  planAgent(plan);

  Fd signals(openSignalFd(kAllSignals));
  if (!signals.valid()) return unrecorded("cannot receive signals: " + errnoText(errno));
  auto recorder = RecorderProcess::start(plan, environment_, recording_);
  if (!recorder.ok()) {
    const Error& error = recorder.error();
    const bool chosen = !options_.output.empty() || !options_.name.empty();
    return error.kind != Error::Kind::kUnsupported && chosen ? fail(error.message)
                                                             : unrecorded(error.message);
  }
  injection_.recording = plan.directory;
  injection_.events = recorder.value().events();
  injection_.activity = recorder.value().activity();
  if (injection_.events.empty()) injection_.hookDirectory.clear();  // nowhere to write to
  lastResort.recorder = recorder.value().pid();
  front_.emplace(std::move(recorder).value(), std::move(signals), supervision());
  if (!options_.overrides.needHook() || !injection_.events.empty()) return std::nullopt;
  front_->recorder().discard(kFinishLimit);
  return fail(std::string("the hook has no event memory") + kNotChanged);
}

std::optional<int> Session::startCommand() {
  front_->beforeFork();
  auto held = HeldCommand::fork({options_.command, withInjection(environment_, injection_),
                                 environment_, options_.overrides.any(), front_->recorder().pid()},
                                inherited_);
  RecorderProcess& recorder = front_->recorder();
  if (!held.ok()) {
    recorder.discard(kFinishLimit);
    front_->giveUp();
    return unrecorded(held.error().message);
  }
  HeldCommand& command = held.value();
  lastResort.held = command.pid();
  front_->begin(command.pid());
  recorder.arm(command.pid(), kArmLimit);
  started_ = now();
  lastResort.started = true;
  const HeldCommand::Started started = command.release();
  if (started.error != 0) {
    front_->reap();
    recorder.discard(kFinishLimit);
    printLine(execFailureText(options_.command[0], started.error));
    return execFailureStatus(started.error);
  }
  if (started.untouched)
    recorder.control().send(
        {ControlMessage::Kind::kUninstrumented, 0, false, 0,
         "the environment is too near its limit (E2BIG): started without the hook"});
  return std::nullopt;
}

// What the command closes must be closed: we keep only stderr, for the report, and what our caller
// has locked, as the lock is this process's.
void Session::closeUnused() {
  std::vector<int> kept = lockedDescriptors();
  kept.insert(kept.end(), {front_->recorder().control().fd(), front_->signalFd()});
  closeDescriptors(3, std::move(kept));
  silence(false);
}

void Session::printEnd(const CommandStatus& status,
                       const std::optional<ControlMessage>& closed) const {
  char line[160];
  const double wall = seconds(status.at - started_);
  if (status.signal > 0)
    std::snprintf(line, sizeof line, "the command was ended by signal %d (%s) after %.1f s",
                  status.signal, ::strsignal(status.signal), wall);
  else
    std::snprintf(line, sizeof line, "the command ended with %d after %.1f s", status.code, wall);
  std::string text = line;
  if (closed && closed->number > 0)
    text += "; still running, unrecorded now: " + countOf(closed->number, "process");
  printLine(text + endOfRecording(closed, front_->recorderAlive(), recording_));
}

void Session::finishRecording(const CommandStatus& status) {
  const bool signalled = status.signal > 0;
  auto closed =
      front_->recorder().end(signalled ? status.signal : status.code, signalled, status.at,
                             status.terminated ? kFinishLimitInHurry : kFinishLimit);
  front_->reap();
  const bool changed = options_.overrides.needHook();
  if (!closed && changed && !status.terminated) closed = awaitClosed();
  printEnd(status, closed);
  if (!changed || (closed && closed->flag)) return;
  constexpr char kUnknown[] = "it is not known whether the changes that were asked for were made";
  if (!closed && !isTrial()) return printLine(kUnknown);
  notApplied_ = closed ? "the command ended, and what was to be changed in it was not: " +
                             whyNotChanged(options_.overrides)
                       : kUnknown;
}

// Whether a change was made is in what the recorder says at its end, which a slow disk delays.
// Whoever interrupts this is not kept waiting.
std::optional<ControlMessage> Session::awaitClosed() {
  constexpr auto kClosed = ControlMessage::Kind::kClosed;
  const Nanos until = now() + kFinishLimitOfChange;
  (void)front_->interrupted();  // what was sent to the command while it lived is not for us
  std::optional<ControlMessage> closed;
  do {
    closed = front_->recorder().control().await(kClosed, kClosed, now() + kInterruptible);
  } while (!closed && front_->recorderGoes() && now() < until && !front_->interrupted());
  return closed;
}

// The command's own; where it was to be changed, was not and ended well, a failure of ours.
int Session::statusOf(const CommandStatus& status) const {
  const int code = asAsked(status) ? 0 : status.code;
  if (notApplied_.empty() || (code != 0 && !status.enough)) return code;
  printLine(notApplied_);
  return kOwnFailure;
}

int Session::run() {
  if (const auto status = startRecorder()) return *status;
  if (const auto status = startCommand()) return *status;
  closeUnused();
  printLine("recording to " + inQuotes(recording_));
  const CommandStatus status = front_->waitForCommand(printLine);
  finishRecording(status);
  const std::string asked = (options_.overrides.steps > 0 ? "the steps" : "the seconds of steps") +
                            std::string(" that were asked for");
  if (status.enough)
    printLine("it was sent TERM after " + asked);
  else if (options_.overrides.ends() && status.code == 0)
    printLine("it ended by itself, before " + asked);
  if (status.left > 0)
    printLine("still running: " + countOf(static_cast<std::int64_t>(status.left), "process") +
              " that it left, sent TERM, too");
  (void)front_->interrupted();  // what was sent to the command while it lived is not for us
  writeReports({recording_, options_, status.terminated, [this] { return front_->interrupted(); }});
  while (front_->recorderGoes() && now() - status.at < kRecorderLimit) ::poll(nullptr, 0, 2);
  if (status.signal > 0 && !asAsked(status)) endAs(0, status.signal);
  return statusOf(status);
}

}  // namespace

int runSession(const LaunchOptions& options) {
  if (!options.overrides.any()) prepareForNoMemory(options.command);
  auto environment = withOverrides(currentEnvironment(), options.overrides);
  const bool changed = options.overrides.any();
  // The command is found where its own PATH says, as by `env PATH=... COMMAND`.
  if (!options.overrides.env.empty())
    if (const std::string path(valueOf(environment, "PATH")); !path.empty())
      ::setenv("PATH", path.c_str(), 1);
  if (valueOf(environment, kDisableVariable) == "1")
    return changed ? fail(std::string(kDisableVariable) + "=1 is set" + kNotChanged)
                   : runUnrecorded(options.command, nullptr);
  if (changed && isRecorded(environment))
    return fail(std::string("inside another stallprof run") + kNotChanged);
  if (isRecorded(environment)) {
    printLine("inside another stallprof run: the command runs plainly, that run records it");
    return runUnrecorded(options.command, nullptr);
  }
  auto recording = chooseRecording(options, environment);
  if (!recording.ok() && !changed && recording.error().kind == Error::Kind::kUnsupported) {
    printLine(recording.error().message + kUnrecorded);
    return runUnrecorded(options.command, nullptr);
  }
  if (!recording.ok()) return fail(recording.error().message);
  return Session(options, std::move(environment), std::move(recording).value()).run();
}

}  // namespace stallprof
