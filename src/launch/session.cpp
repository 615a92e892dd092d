// SPDX-License-Identifier: MIT
#include "launch/session.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/text.h"
#include "launch/child_environment.h"
#include "launch/descriptors.h"
#include "launch/ending.h"
#include "launch/facts_of_run.h"
#include "launch/front.h"
#include "launch/held_command.h"
#include "launch/inherited.h"
#include "launch/recorder.h"
#include "launch/recording_place.h"
#include "launch/terminal.h"

namespace stallprof {
namespace {

constexpr int kOwnFailure = 125;
// Creating the recording takes 1 ms on a local disk. A file system that does not answer for this
// long would not take the recording either.
constexpr Nanos kPrepareLimit = std::chrono::seconds(10);
constexpr Nanos kArmLimit = std::chrono::seconds(2);
constexpr Nanos kFinishLimit = std::chrono::seconds(2);
// Whoever sent SIGTERM has the status within 2 s of the command's end.
constexpr Nanos kFinishLimitInHurry = std::chrono::milliseconds(1500);
// The recorder is waited for, so that whoever is init here gets no zombie; but an ending has 100 ms
// in all. The kernel takes 45 ms to close a tracepoint of the recorder, on a busy machine more.
constexpr Nanos kRecorderLimit = std::chrono::milliseconds(80);

int fail(const std::string& line) {
  say(line);
  return kOwnFailure;
}

// Reached only when exec failed.
int runPlainly(const std::vector<std::string>& command, const Inherited* inherited) {
  if (inherited != nullptr) inherited->giveBack();
  const int error = execPlainly(command);
  say(inQuotes(command[0]) + ": " + errnoText(error));
  return execFailureStatus(error);
}

// An outer stallprof records us already, if its event memory can still be reached.
bool insideAnotherRun(const std::vector<std::string>& environment) {
  const std::string events(valueOf(environment, kEventsVariable));
  return !events.empty() && ::access(events.c_str(), F_OK) == 0;
}

// A line a minute for who reads the log of a job; nothing on a terminal, where the job may be
// drawing a bar of its own.
Nanos progressEvery(const LaunchOptions& options) {
  constexpr Nanos kUsual = std::chrono::minutes(1);
  if (options.progressSeconds >= 0) return std::chrono::seconds(options.progressSeconds);
  return ::isatty(STDERR_FILENO) == 1 ? Nanos(0) : kUsual;
}

// One run, in the order in which it happens.
class Session {
 public:
  Session(const LaunchOptions& options, std::vector<std::string> environment, std::string recording)
      : options_(options),
        environment_(std::move(environment)),
        recording_(std::move(recording)),
        inherited_(Inherited::take()) {}

  int run();

 private:
  std::optional<int> startRecorder();
  void planAgent(RecorderPlan& plan);
  std::optional<int> startCommand();
  void letGo();
  void finishRecording(const CommandStatus& status);
  void sayEnd(const CommandStatus& status, const std::optional<ControlMessage>& closed) const;
  int plainly(const std::string& why);

  const LaunchOptions& options_;
  std::vector<std::string> environment_;
  std::string recording_;
  Inherited inherited_;
  Injection injection_;
  std::optional<Front> front_;
  Nanos started_{};
};

int Session::plainly(const std::string& why) {
  say(why + "; the command runs unrecorded");
  return runPlainly(options_.command, &inherited_);
}

// A tool the user has asked for comes first: CUPTI serves one in a process.
void Session::planAgent(RecorderPlan& plan) {
  plan.agent = false;
  if (!options_.gpu && ::access("/dev/nvidiactl", F_OK) == 0)
    plan.noAgent = "not asked for: run --gpu traces CUDA and NVTX from inside";
  if (!options_.gpu && !options_.nvtx) return;
  if (options_.gpu) plan.noAgent = foreignInjection(environment_, kCudaVariable);
  if (options_.gpu && !plan.noAgent.empty())
    plan.noAgent += ": left as it is, GPU work is not traced";
  plan.noNvtx = foreignInjection(environment_, kNvtxVariable);
  if (!plan.noNvtx.empty()) plan.noNvtx += ": left as it is, NVTX ranges are not seen";
  auto agent = findAgent();
  if (!agent.ok()) {
    (options_.gpu ? plan.noAgent : plan.noNvtx) = agent.error().message;
    return;
  }
  plan.agent = options_.gpu;
  injection_.agent = std::move(agent).value();
  plan.keepActivity = valueOf(environment_, kKeepActivityVariable);
}

std::optional<int> Session::startRecorder() {
  RecorderPlan plan;
  plan.directory = std::filesystem::absolute(recording_).string();
  plan.hz = options_.hz;
  plan.python = options_.python;
  plan.progressEvery = progressEvery(options_);
  plan.native = options_.native;
  plan.counters = options_.counters;
  plan.manifest = factsOfRun(options_.command, environment_, options_.hz);
  plan.manifest.maps = options_.maps;
  plan.manifest.frontPid = static_cast<std::uint32_t>(::getpid());
  if (!options_.python) {
    plan.noHook = "switched off with --no-python";
  } else if (auto hook = findHook(); hook.ok()) {
    injection_.hookDirectory = std::move(hook).value();
  } else {
    plan.noHook = hook.error().message;
  }
  planAgent(plan);
  injection_.recording = plan.directory;

  auto witness = Witness::create();
  auto sockets = Control::makePair();
  Fd signals(openSignalFd(kAllSignals));
  if (!witness.ok() || !sockets.ok() || !signals.valid())
    return plainly("cannot start the recorder");
  auto [ours, theirs] = std::move(sockets).value();
  const pid_t recorder = ::fork();
  if (recorder < 0) return plainly("cannot start the recorder: " + errnoText(errno));
  if (recorder == 0) runRecorder(std::move(plan), std::move(theirs), witness.value());
  theirs = Control();

  const auto answer = ours.await(ControlMessage::Kind::kReady, ControlMessage::Kind::kRefused,
                                 now() + kPrepareLimit);
  if (answer && answer->kind == ControlMessage::Kind::kRefused) {
    ::waitpid(recorder, nullptr, 0);
    return fail(answer->text);
  }
  if (!answer) {
    ::kill(recorder, SIGKILL);
    ::waitpid(recorder, nullptr, ours.closed() ? 0 : WNOHANG);  // it may hang on a dead disk
    return plainly("the recorder did not get ready");
  }
  // The two memories' paths; the second may be missing.
  const std::size_t split = answer->text.find('\n');
  injection_.events = answer->text.substr(0, split);
  if (split != std::string::npos) injection_.activity = answer->text.substr(split + 1);
  if (injection_.events.empty()) injection_.hookDirectory.clear();  // nowhere to write to
  front_.emplace(std::move(ours), witness.value(), recorder, std::move(signals));
  return std::nullopt;
}

std::optional<int> Session::startCommand() {
  front_->beforeFork();
  auto held = HeldCommand::fork(
      {options_.command, withInjection(environment_, injection_), environment_}, inherited_);
  Control& control = front_->control();
  if (!held.ok()) {
    control.send({ControlMessage::Kind::kDiscard});
    (void)control.await(ControlMessage::Kind::kClosed, ControlMessage::Kind::kClosed,
                        now() + kFinishLimit);
    return fail(held.error().message);
  }
  HeldCommand& command = held.value();
  front_->begin(command.pid());
  control.send({ControlMessage::Kind::kCommand, command.pid()});
  (void)control.await(ControlMessage::Kind::kArmed, ControlMessage::Kind::kArmed,
                      now() + kArmLimit);
  started_ = now();
  const HeldCommand::Started started = command.release();
  if (started.error != 0) {
    front_->reap();
    control.send({ControlMessage::Kind::kDiscard});
    (void)control.await(ControlMessage::Kind::kClosed, ControlMessage::Kind::kClosed,
                        now() + kFinishLimit);
    say(inQuotes(options_.command[0]) + ": " + errnoText(started.error));
    return execFailureStatus(started.error);
  }
  if (started.untouched)
    control.send({ControlMessage::Kind::kUninstrumented, 0, false, 0,
                  "the environment is too near its limit (E2BIG): started without the hook"});
  return std::nullopt;
}

// What the command closes must be closed: we keep only stderr, for the report.
void Session::letGo() {
  closeDescriptors(3, {front_->control().fd(), front_->signalFd()});
  silence(false);
}

void Session::sayEnd(const CommandStatus& status,
                     const std::optional<ControlMessage>& closed) const {
  char line[160];
  const double wall = seconds(status.at - started_);
  if (status.signal > 0)
    std::snprintf(line, sizeof line, "the command was ended by signal %d (%s) after %.1f s",
                  status.signal, ::strsignal(status.signal), wall);
  else
    std::snprintf(line, sizeof line, "the command ended with %d after %.1f s", status.code, wall);
  std::string text = line;
  if (!closed) {
    text += front_->recorderAlive()
                ? "; the recording " + inQuotes(recording_) + " is still written"
                : "; warning: the recorder died before it, the recording " + inQuotes(recording_) +
                      " holds what was seen until then";
  } else if (closed->number > 0) {
    text += "; " + std::to_string(closed->number) + " of its processes still run, unrecorded now";
  }
  say(text);
}

void Session::finishRecording(const CommandStatus& status) {
  Control& control = front_->control();
  control.send({ControlMessage::Kind::kEnded,
                status.signal > 0 ? status.signal : status.code,
                status.signal > 0,
                status.at.count(),
                {}});
  const Nanos limit = status.terminated ? kFinishLimitInHurry : kFinishLimit;
  const auto closed =
      control.await(ControlMessage::Kind::kClosed, ControlMessage::Kind::kClosed, now() + limit);
  front_->reap();
  sayEnd(status, closed);
}

int Session::run() {
  if (const auto status = startRecorder()) return *status;
  if (const auto status = startCommand()) return *status;
  letGo();
  say("recording to " + inQuotes(recording_));
  const CommandStatus status = front_->waitForCommand(say);
  finishRecording(status);
  (void)front_->interrupted();  // what was sent to the command while it lived is not for us
  writeReports({recording_, options_.reports, options_.price, status.terminated,
                [this] { return front_->interrupted(); }, options_.rules, options_.colour});
  while (front_->recorderGoes() && now() - status.at < kRecorderLimit) ::poll(nullptr, 0, 2);
  if (status.signal > 0) endAs(0, status.signal);
  return status.code;
}

}  // namespace

int runSession(const LaunchOptions& options) {
  auto environment = currentEnvironment();
  if (valueOf(environment, kDisableVariable) == "1") return runPlainly(options.command, nullptr);
  if (insideAnotherRun(environment)) {
    say("inside another stallprof run: the command runs plainly, that run records it");
    return runPlainly(options.command, nullptr);
  }
  auto recording = chooseRecording(options, environment);
  if (!recording.ok()) return fail(recording.error().message);
  if (const Status fit = checkReports(options.reports); !fit.ok()) return fail(fit.error().message);
  return Session(options, std::move(environment), std::move(recording).value()).run();
}

}  // namespace stallprof
