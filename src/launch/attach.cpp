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
#include <optional>

#include "base/fd.h"
#include "base/proc_numbers.h"
#include "base/text.h"
#include "launch/ending.h"
#include "launch/process/inherited.h"
#include "launch/process/terminal.h"
#include "launch/recorder/recorder_process.h"
#include "launch/setup/capability.h"
#include "launch/setup/child_environment.h"
#include "launch/setup/recording_place.h"
#include "sampler/proc/cgroup.h"

namespace stallprof {
namespace {

constexpr int kFailure = 1;
constexpr Nanos kAttachArmLimit = std::chrono::seconds(10);
constexpr Nanos kAttachFinishLimit = std::chrono::seconds(2);
// Where the kernel has no pidfd_open (before Linux 5.3), how often to ask whether it still runs.
constexpr int kAskMs = 500;
constexpr char kNoHook[] =
    "attached to a process that ran already: its loaders and steps are seen from outside only";

int failAttach(const std::string& line) {
  printLine(line);
  return kFailure;
}

// The process that a thread is of; 0 where there is none.
pid_t processOf(pid_t task) { return std::atoi(statusOf(task, "Tgid").c_str()); }

class AttachSession {
 public:
  AttachSession(pid_t pid, LaunchOptions options, Nanos limit)
      : pid_(pid),
        options_(std::move(options)),
        limit_(limit),
        process_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {}

  int run() {
    if (const int status = inspect(); status != 0) return status;
    inherited_ = Inherited::take();
    signals_ = Fd(openSignalFd(endingSignals()));
    if (const int status = startRecorder(); status != 0) return status;
    started_ = now();
    printLine("attached to process " + std::to_string(pid_) + ", recording to '" +
              escapeTerminal(recording_, 512) + "'; Ctrl-C ends the recording, not the process");
    if (const std::string more = oneSetting(probeHost(pid_)); !more.empty())
      printLine("more would be seen: " + more);
    wait();
    const bool whole = finish();
    writeReports({recording_, options_, false, [this] { return interrupted(); }});
    return whole ? 0 : kFailure;
  }

 private:
  // Whether it can be recorded, and where to.
  int inspect() {
    if (!procHasOurNumbers()) return failAttach(kForeignProc);
    const auto command = wordsOfProcess(pid_, "cmdline");
    if (!command.ok()) return failAttach("there is no process " + std::to_string(pid_));
    if (const pid_t owner = processOf(pid_); owner != pid_)
      return failAttach(std::to_string(pid_) + " is a thread of process " + std::to_string(owner));
    if (command.value().empty())
      return failAttach("process " + std::to_string(pid_) +
                        " has no command line: nothing to record");
    // Unreadable without the right to it; then no variable of it is recorded.
    const auto environment = wordsOfProcess(pid_, "environ");
    if (environment.ok()) environment_ = environment.value();
    options_.command = command.value();
    if (isRecorded(environment_))
      return failAttach("process " + std::to_string(pid_) + " is recorded already");
    const auto recording = chooseRecording(options_, environment_);
    if (!recording.ok()) return failAttach(recording.error().message);
    recording_ = recording.value();
    return 0;
  }

  int startRecorder() {
    RecorderPlan plan = makePlan(options_, environment_, recording_);
    plan.attached = true;
    plan.noHook = kNoHook;
    plan.manifest.host.coresUsable = usableCores("/", pid_);
    std::error_code error;
    const auto directory =
        std::filesystem::read_symlink("/proc/" + std::to_string(pid_) + "/cwd", error);
    plan.manifest.directory = Untrusted(error ? "" : directory.string());
    auto recorder = RecorderProcess::start(plan, environment_, recording_);
    if (!recorder.ok()) return failAttach(recorder.error().message);
    recorder_.emplace(std::move(recorder).value());
    recorder_->arm(pid_, kAttachArmLimit);
    return 0;
  }

  // A signal has asked for the end of the recording.
  bool interrupted() {
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
    Control& control = recorder_->control();
    for (;;) {
      const Nanos left = limit_ > Nanos(0) ? started_ + limit_ - now() : Nanos::max();
      if (left <= Nanos(0)) return;
      const auto maximum = std::chrono::ceil<std::chrono::milliseconds>(left).count();
      int wait = static_cast<int>(std::min<std::int64_t>(maximum, 60'000));
      if (!process_.valid()) wait = std::min(wait, kAskMs);
      pollfd ready[3] = {{signals_.get(), POLLIN, 0},
                         {process_.get(), POLLIN, 0},
                         {control.closed() ? -1 : control.fd(), POLLIN, 0}};
      ::poll(ready, 3, wait);
      while (control.receive()) {
      }
      ended_ = processGone();
      if (ended_ || interrupted() || control.closed()) return;
    }
  }

  // False where the recorder died before.
  bool finish() {
    // How it ended is its parent's to know: neither a code nor a signal.
    const auto closed = recorder_->end(-1, false, now(), kAttachFinishLimit);
    char line[128];
    std::snprintf(line, sizeof line, "%s after %.1f s", ended_ ? "the process ended" : "left",
                  seconds(now() - started_));
    ::waitpid(recorder_->pid(), nullptr, closed ? 0 : WNOHANG);
    const bool runs = !recorder_->control().closed();
    printLine(line + endOfRecording(closed, runs, recording_));
    return closed || runs;
  }

  pid_t pid_;
  LaunchOptions options_;
  Nanos limit_, started_{};
  Fd process_, signals_;
  std::vector<std::string> environment_;
  std::string recording_;
  Inherited inherited_;
  std::optional<RecorderProcess> recorder_;
  bool ended_ = false;
};

}  // namespace

int attachSession(pid_t pid, const LaunchOptions& options, Nanos limit) {
  return AttachSession(pid, options, limit).run();
}

}  // namespace stallprof
