// SPDX-License-Identifier: MIT
#include "launch/ending.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "launch/process/inherited.h"
#include "launch/process/terminal.h"
#include "launch/setup/held_command.h"
#include "launch/setup/recording_place.h"

namespace stallprof {
namespace {

// A report that nobody asked for must not hold up who waits for the command.
constexpr Nanos kDefaultReportLimit = std::chrono::seconds(5);
// One that used no CPU for so long waits for a disk that hangs, or for a pipe that nobody reads.
constexpr Nanos kStalled = std::chrono::seconds(10);
// A process that was killed is gone within this; one that hangs in the kernel may never be.
constexpr Nanos kReapLimit = std::chrono::milliseconds(500);

struct Report {
  std::vector<std::string> argv;  // as a user would type it
  std::string file;               // empty: stderr
  bool byDefault = false;
};

Report planOf(const EndingPlan& plan, const LaunchOptions::Report& wanted) {
  Report report;
  report.file = reportFile(plan.recording, wanted);
  report.byDefault = report.file.empty();
  report.argv = {"stallprof", "report", plan.recording};
  if (!report.byDefault) {
    report.argv.insert(report.argv.end(), {"--format", wanted.format, "-o", report.file});
  }
  const LaunchOptions& options = plan.options;
  if (!options.price.empty()) report.argv.insert(report.argv.end(), {"--price", options.price});
  if (options.colour != "auto") report.argv.insert(report.argv.end(), {"--color", options.colour});
  if (!options.rules.empty()) report.argv.insert(report.argv.end(), {"--rules", options.rules});
  return report;
}

pid_t spawn(const std::vector<std::string>& argv) {
  const std::vector<char*> words = pointers(argv);
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  setSignalMask(0);
  ::setenv("STALLPROF_CONFIG", "none", 1);  // this report is as `run` was asked for it
  ::dup2(STDERR_FILENO, STDOUT_FILENO);     // nothing of ours goes to the job's stdout
  ::execv("/proc/self/exe", words.data());
  ::_exit(127);
}

void endReport(pid_t pid) {
  ::kill(pid, SIGKILL);  // our own child, not yet reaped
  for (const Nanos until = now() + kReapLimit; now() < until; ::poll(nullptr, 0, 5))
    if (::waitpid(pid, nullptr, WNOHANG) != 0) return;
}

// When a process last used CPU, as far as it was asked.
class StallWatch {
 public:
  explicit StallWatch(pid_t pid) : pid_(pid) {}
  bool stalled() {
    const Nanos cpu = cpuOf(pid_), t = now();
    if (cpu != std::exchange(cpu_, cpu)) since_ = t;
    return t - since_ > kStalled;
  }

 private:
  pid_t pid_;
  Nanos cpu_{-1}, since_ = now();
};

// The report's exit code; none when it was stopped.
std::optional<int> await(pid_t pid, std::optional<Nanos> deadline,
                         const std::function<bool()>& interrupted) {
  StallWatch watch(pid);
  for (;;) {
    int status = 0;
    const pid_t done = ::waitpid(pid, &status, WNOHANG);
    if (done == pid) return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (done < 0 && errno != EINTR) return 127;
    if ((deadline && now() > *deadline) || watch.stalled() || interrupted()) {
      endReport(pid);
      return std::nullopt;
    }
    ::poll(nullptr, 0, 10);
  }
}

}  // namespace

void writeReports(const EndingPlan& plan) {
  bool stopped = false;
  for (const LaunchOptions::Report& wanted : plan.options.reports) {
    const Report report = planOf(plan, wanted);
    const std::string later = "for the report: " + joinShell(report.argv);
    if (stopped || (plan.hurry && report.byDefault)) {
      printLine(later);
      continue;
    }
    const pid_t pid = spawn(report.argv);
    if (pid < 0) {
      printLine("cannot start the report: " + later);
      continue;
    }
    const auto limit =
        report.byDefault ? std::optional<Nanos>(now() + kDefaultReportLimit) : std::nullopt;
    const auto code = await(pid, limit, plan.interrupted);
    if (!code) {
      stopped = !limit || now() < *limit;
      printLine(later);
    } else if (*code != 0) {
      printLine("the report failed; " + later);
    }
  }
}

std::string endOfRecording(const std::optional<ControlMessage>& closed, bool runs,
                           const std::string& recording) {
  if (closed) return closed->text.empty() ? "" : "; its end is not recorded: " + closed->text;
  return runs ? "; the recording " + inQuotes(recording) + " is still written"
              : "; warning: the recorder died before it, the recording " + inQuotes(recording) +
                    " holds what was seen until then";
}

void endAs(int code, int signal) {
  if (signal <= 0) ::_exit(code);
  // The command has left its core file already, where one was wanted; ours would overwrite it.
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  ::prctl(PR_SET_DUMPABLE, 0);
  struct sigaction byDefault {};
  byDefault.sa_handler = SIG_DFL;
  ::sigaction(signal, &byDefault, nullptr);
  ::syscall(SYS_tgkill, ::getpid(), ::gettid(), signal);
  setSignalMask(kAllSignals & ~signalBit(signal));
  ::_exit(128 + signal);  // a signal that does not end a process by default
}

}  // namespace stallprof
