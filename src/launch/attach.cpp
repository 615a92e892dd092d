// SPDX-License-Identifier: MIT
#include "launch/attach.h"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/fd.h"
#include "base/text.h"
#include "launch/capability.h"
#include "launch/child_environment.h"
#include "launch/ending.h"
#include "launch/facts_of_run.h"
#include "launch/inherited.h"
#include "launch/recorder.h"
#include "launch/recording_place.h"
#include "launch/terminal.h"
#include "sampler/cgroup.h"

namespace stallprof {
namespace {

constexpr int kFailure = 1;
constexpr std::size_t kLargestFile = 4u << 20;  // of arguments or environment
constexpr Nanos kPatience = std::chrono::seconds(10), kFinishLimit = std::chrono::seconds(2);
// Where the kernel has no pidfd_open (before Linux 5.3), how often to ask whether it still runs.
constexpr int kAskMs = 500;
constexpr SignalMask kLeaving =
    signalBit(SIGINT) | signalBit(SIGTERM) | signalBit(SIGHUP) | signalBit(SIGQUIT);
constexpr char kNoHook[] =
    "attached to a process that ran already: its loaders and steps are seen from outside only";

int fail(const std::string& line) {
  say(line);
  return kFailure;
}

// Words that each end with a zero byte, as in cmdline and environ.
Result<std::vector<std::string>> wordsOf(pid_t pid, const char* name) {
  auto text = readFile("/proc/" + std::to_string(pid) + "/" + name, kLargestFile);
  if (!text.ok()) return std::move(text).error();
  std::vector<std::string> words;
  std::string_view left = text.value();
  while (!left.empty()) {
    words.emplace_back(left.substr(0, left.find('\0')));
    left.remove_prefix(std::min(words.back().size() + 1, left.size()));
  }
  return words;
}

// The process that a thread is of; 0 where there is none.
pid_t processOf(pid_t task) {
  const auto status = readFile("/proc/" + std::to_string(task) + "/status", kLargestFile);
  const std::size_t at = status.ok() ? status.value().find("\nTgid:") : std::string::npos;
  return at == std::string::npos ? 0 : std::atoi(status.value().c_str() + at + 6);
}

class AttachSession {
 public:
  AttachSession(pid_t pid, const LaunchOptions& options, Nanos limit)
      : pid_(pid),
        options_(options),
        limit_(limit),
        process_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {}

  int run() {
    if (const int status = look(); status != 0) return status;
    inherited_ = Inherited::take();
    signals_ = Fd(openSignalFd(kLeaving));
    if (const int status = startRecorder(); status != 0) return status;
    started_ = now();
    say("attached to process " + std::to_string(pid_) + ", recording to '" +
        escapeTerminal(recording_, 512) + "'; Ctrl-C ends the recording, not the process");
    if (const std::string more = oneSetting(probeHost(pid_)); !more.empty())
      say("more would be seen: " + more);
    wait();
    finish();
    writeReports({recording_, options_.reports, options_.price, false, [this] { return leaves(); },
                  options_.rules, options_.colour});
    return 0;
  }

 private:
  int look() {
    const auto command = wordsOf(pid_, "cmdline");
    if (!command.ok()) return fail("there is no process " + std::to_string(pid_));
    if (const pid_t owner = processOf(pid_); owner != pid_)
      return fail(std::to_string(pid_) + " is a thread of process " + std::to_string(owner));
    if (command.value().empty())
      return fail("process " + std::to_string(pid_) + " has no command line: nothing to record");
    // Unreadable without the right to it; then no variable of it is recorded.
    const auto environment = wordsOf(pid_, "environ");
    if (environment.ok()) environment_ = environment.value();
    command_ = command.value();
    if (const std::string events(valueOf(environment_, kEventsVariable));
        !events.empty() && ::access(events.c_str(), F_OK) == 0)
      return fail("process " + std::to_string(pid_) + " is recorded already");
    LaunchOptions named = options_;
    named.command = command_;
    const auto recording = chooseRecording(named, environment_);
    if (!recording.ok()) return fail(recording.error().message);
    if (const Status fit = checkReports(options_.reports); !fit.ok())
      return fail(fit.error().message);
    recording_ = recording.value();
    return 0;
  }

  int startRecorder() {
    RecorderPlan plan;
    plan.directory = std::filesystem::absolute(recording_).string();
    plan.hz = options_.hz;
    plan.python = options_.python;
    plan.native = options_.native;
    plan.attached = true;
    plan.agent = false;
    plan.noHook = kNoHook;
    plan.manifest = factsOfRun(command_, environment_, options_.hz);
    plan.manifest.host.coresUsable = usableCores("/", pid_);
    plan.manifest.frontPid = static_cast<std::uint32_t>(::getpid());
    std::error_code error;
    const auto directory =
        std::filesystem::read_symlink("/proc/" + std::to_string(pid_) + "/cwd", error);
    plan.manifest.directory = Untrusted(error ? "" : directory.string());
    auto witness = Witness::create();
    auto sockets = Control::makePair();
    if (!witness.ok() || !sockets.ok()) return fail("cannot start the recorder");
    auto [ours, theirs] = std::move(sockets).value();
    recorder_ = ::fork();
    if (recorder_ < 0) return fail("cannot start the recorder: " + errnoText(errno));
    if (recorder_ == 0) runRecorder(std::move(plan), std::move(theirs), witness.value());
    theirs = Control();
    control_ = std::move(ours);
    const auto answer = control_.await(ControlMessage::Kind::kReady, ControlMessage::Kind::kRefused,
                                       now() + kPatience);
    if (!answer || answer->kind == ControlMessage::Kind::kRefused) {
      ::kill(recorder_, SIGKILL);
      ::waitpid(recorder_, nullptr, answer ? 0 : WNOHANG);  // it may hang on a dead disk
      return fail(answer ? answer->text : "the recorder did not get ready");
    }
    control_.send({ControlMessage::Kind::kCommand, pid_});
    (void)control_.await(ControlMessage::Kind::kArmed, ControlMessage::Kind::kArmed,
                         now() + kPatience);
    return 0;
  }

  // Somebody has asked us to leave.
  bool leaves() {
    char bytes[4096];  // many signalfd_siginfo
    return ::read(signals_.get(), bytes, sizeof bytes) > 0;
  }

  [[nodiscard]] bool processGone() const {
    if (process_.valid()) {
      pollfd ended{process_.get(), POLLIN, 0};
      return ::poll(&ended, 1, 0) > 0;
    }
    return ::kill(pid_, 0) != 0 && errno == ESRCH;
  }

  void wait() {
    for (;;) {
      const Nanos left = limit_ > Nanos(0) ? started_ + limit_ - now() : Nanos::max();
      if (left <= Nanos(0)) return;
      const auto most = std::chrono::ceil<std::chrono::milliseconds>(left).count();
      int wait = static_cast<int>(std::min<std::int64_t>(most, 60'000));
      if (!process_.valid()) wait = std::min(wait, kAskMs);
      pollfd ready[3] = {{signals_.get(), POLLIN, 0},
                         {process_.get(), POLLIN, 0},
                         {control_.closed() ? -1 : control_.fd(), POLLIN, 0}};
      ::poll(ready, 3, wait);
      while (control_.receive()) {
      }
      ended_ = processGone();
      if (ended_ || leaves() || control_.closed()) return;
    }
  }

  void finish() {
    // How it ended is its parent's to know: neither a code nor a signal.
    control_.send({ControlMessage::Kind::kEnded, -1, false, now().count(), {}});
    const auto closed = control_.await(ControlMessage::Kind::kClosed, ControlMessage::Kind::kClosed,
                                       now() + kFinishLimit);
    char line[128];
    std::snprintf(line, sizeof line, "%s after %.1f s", ended_ ? "the process ended" : "left",
                  seconds(now() - started_));
    say(std::string(line) +
        (closed ? ""
                : "; warning: the recorder died before it, the recording holds what was seen"));
    ::waitpid(recorder_, nullptr, closed ? 0 : WNOHANG);
  }

  pid_t pid_;
  const LaunchOptions& options_;
  Nanos limit_, started_{};
  Fd process_, signals_;
  std::vector<std::string> command_, environment_;
  std::string recording_;
  Inherited inherited_;
  Control control_;
  pid_t recorder_ = -1;
  bool ended_ = false;
};

}  // namespace

int attachSession(pid_t pid, const LaunchOptions& options, Nanos limit) {
  return AttachSession(pid, options, limit).run();
}

}  // namespace stallprof
