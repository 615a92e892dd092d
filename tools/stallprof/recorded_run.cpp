// SPDX-License-Identifier: MIT
#include "stallprof/recorded_run.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "base/time.h"
#include "launch/process/children.h"
#include "launch/process/inherited.h"
#include "launch/setup/child_environment.h"
#include "launch/setup/overrides.h"
#include "stallprof/interruption.h"

namespace stallprof {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kLargestLog = 1u << 20;  // more of one is not read for its last line
// By which the process around a trial ends itself; a signal that ends the trial is a number of its
// exit status.
constexpr int kLate = SIGALRM;

// What does not end by TERM within it ends by KILL.
Nanos graceOf(const RecordedRun& run) { return std::chrono::seconds(run.view != nullptr ? 5 : 60); }

Error notRun(const std::string& what) { return {Error::Kind::kUsage, what}; }

std::vector<std::string> wordsOf(const RecordedRun& run) {
  std::vector<std::string> words = {"stallprof",  "run", "--report", "none",
                                    "--progress", "off", "-o",       run.recording};
  words.insert(words.end(), run.options.begin(), run.options.end());
  words.emplace_back("--");
  words.insert(words.end(), run.command.begin(), run.command.end());
  return words;
}

[[noreturn]] void failChild(const std::string& what) {
  std::fprintf(stderr, "stallprof: %s\n", what.c_str());
  std::fflush(nullptr);
  ::_exit(125);
}

// In the child. All runs are recorded alike, whatever configuration stands in their directories.
[[noreturn]] void becomeRun(const RecordedRun& run) {
  ::setenv("STALLPROF_CONFIG", "none", 1);
  for (const std::string& word : run.environment) {
    const std::size_t equals = word.find('=');
    ::setenv(word.substr(0, equals).c_str(), word.c_str() + equals + 1, 1);
  }
  // In a view there is nothing to save.
  if (run.trial) ::setenv(kSupervisedVariable, run.view != nullptr ? "60" : "0", 1);
  const std::vector<std::string> words = wordsOf(run);
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  ::execv("/proc/self/exe", argv.data());
  failChild("cannot start a run: " + errnoText(errno));
}

// Both may themselves be one of the three, where those were closed.
void redirect(int log) {
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int in = ::fcntl(nothing, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int out = ::fcntl(log, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
}

void killChildren() {
  for (const pid_t pid : childProcesses()) ::kill(pid, SIGKILL);
}

// All that the command left is a child by now, as this process takes in orphans. TERM comes once: a
// second one would break in upon a checkpoint that the first has begun.
void endOrphans(Nanos until) {
  std::vector<pid_t> sent;
  for (;;) {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    const std::vector<pid_t> left = childProcesses();
    if (left.empty()) return;
    if (now() >= until) killChildren();
    terminateOnce(left, sent);
    ::poll(nullptr, 0, 20);
  }
}

// In a child: it ends by TERM when its parent does, however that ended.
void endWith(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(125);  // it was gone already
}

// What asks a process to end, and the end of a child. TERM is of a parent that died, too, whatever
// was ignored.
sigset_t awaited() {
  sigset_t signals;
  ::sigemptyset(&signals);
  const SignalMask ending = endingSignals() | signalBit(SIGTERM);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT})
    if ((ending & signalBit(signal)) != 0) ::sigaddset(&signals, signal);
  ::sigaddset(&signals, SIGCHLD);
  return signals;
}

struct Ended {
  int status = 0;
  bool late = false;
  std::optional<Nanos> killedAt;  // when what is left is killed, if that was begun
};

// How `inside` ended. Once this process is to end, by TERM of its dead parent or as part of a
// group, or the run has had its time, that gets TERM and, after a grace, all that is left KILL: a
// command that does not end by TERM would go on for ever, with nobody to know of it.
Ended waitInside(pid_t inside, const RecordedRun& run) {
  const sigset_t signals = awaited();
  const timespec tick = {0, 100'000'000};
  const Nanos began = now();
  Ended end;
  std::optional<Nanos> termAt;
  for (;;) {
    for (pid_t ended = 1; ended > 0;) {
      ended = ::waitpid(-1, &end.status, WNOHANG);
      if (ended == inside) return end;
      if (ended < 0 && errno == ECHILD) {  // nobody is left to wait for
        end.status = 125 << 8;
        return end;
      }
    }
    const int signal = ::sigtimedwait(&signals, nullptr, &tick);
    const bool late = run.limit > Nanos(0) && now() - began > run.limit;
    if (((signal > 0 && signal != SIGCHLD) || late) && !end.killedAt) {
      // What a terminal sends goes to all: the command has it, and may be saving by now.
      const bool hadByAll = !late && (signal == SIGINT || signal == SIGQUIT);
      termAt = now() + (hadByAll ? graceOf(run) / 2 : Nanos(0));
      end.late = late;
      end.killedAt = *termAt + graceOf(run);
    }
    if (termAt && now() >= *termAt) {
      ::kill(inside, SIGTERM);
      termAt.reset();
    }
    if (end.killedAt && now() >= *end.killedAt) killChildren();
  }
}

// In the child: the view is this process's, the run and all it starts are below it.
[[noreturn]] void runTrial(const RecordedRun& run) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const sigset_t signals = awaited();
  sigset_t before;
  ::sigprocmask(SIG_BLOCK, &signals, &before);
  const Status entered = run.view != nullptr ? enterScratchView(*run.view) : Done{};
  if (!entered.ok()) failChild("no view of the files for a trial: " + entered.error().message);
  const pid_t self = ::getpid();
  const pid_t inside = ::fork();
  if (inside < 0) failChild("cannot start a run: " + errnoText(errno));
  if (inside == 0) {
    endWith(self);
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    becomeRun(run);
  }
  const Ended end = waitInside(inside, run);
  endOrphans(end.killedAt.value_or(now() + graceOf(run)));
  if (end.late) {
    ::signal(kLate, SIG_DFL);
    ::raise(kLate);
  }
  const int status = end.status;
  ::_exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

int waitFor(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// What asks us to end comes to a trial as the TERM that it would have by our death. What a terminal
// sends, it sends to the command as well, which may save then: a run that is none is left to that.
int waitForRun(pid_t child, bool trial) {
  constexpr int kTickMilliseconds = 50;
  bool passed = false;
  int status = 0;
  for (;;) {
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child || (ended < 0 && errno != EINTR)) return status;
    const int came = interruption();
    const bool left = !trial && (came == SIGINT || came == SIGQUIT);
    if (came != 0 && !left && !std::exchange(passed, true)) ::kill(child, SIGTERM);
    ::poll(nullptr, 0, kTickMilliseconds);
  }
}

// Of our own lines those that `run` begins and ends with say nothing of why.
bool saysMore(std::string_view line) {
  constexpr std::string_view kOurs[] = {"recording to ", "the command ended with ",
                                        "the command was ended by ", "it was sent TERM ",
                                        "still running: "};
  constexpr std::string_view kName = "stallprof: ";
  if (!line.starts_with(kName)) return true;
  line.remove_prefix(kName.size());
  return std::none_of(std::begin(kOurs), std::end(kOurs),
                      [&](std::string_view begin) { return line.starts_with(begin); });
}

}  // namespace

Result<int> runRecorded(const RecordedRun& run) {
  ::signal(SIGCHLD, SIG_DFL);  // ignored by who started us, no status would be left for us
  const Fd log = openAt(AT_FDCWD, run.log.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (!log.valid()) return notRun("cannot write " + inQuotes(run.log) + ": " + errnoText(errno));
  std::fflush(nullptr);
  const pid_t self = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return notRun("cannot start a run: " + errnoText(errno));
  if (child == 0) {
    endWith(self);  // `run` passes it on
    redirect(log.get());
    if (!run.directory.empty() && ::chdir(run.directory.c_str()) != 0)
      failChild(inQuotes(run.directory) + ": " + errnoText(errno));
    if (run.trial) runTrial(run);
    becomeRun(run);
  }
  const int status = waitForRun(child, run.trial);
  std::error_code ignored;
  if (fs::exists(run.recording, ignored)) return status;
  const std::string said = lastLine(run.log);
  return notRun(fs::path(run.recording).stem().string() + " could not be recorded" +
                (said.empty() ? "" : ": " + said));
}

Status checkRecorded() {
  const std::vector<std::string> environment = currentEnvironment();
  if (valueOf(environment, kDisableVariable) == "1")
    return notRun(std::string(kDisableVariable) + "=1 is set: no run would be recorded");
  if (isRecorded(environment))
    return notRun("inside another stallprof run: that one records, no run of its own would be");
  return Done{};
}

bool wasLate(int status) { return WIFSIGNALED(status) && WTERMSIG(status) == kLate; }

Status tryScratchView(const ScratchView& view) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return notRun("a pipe: " + errnoText(errno));
  const Fd read(ends[0]);
  Fd write(ends[1]);
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return notRun("cannot start a process: " + errnoText(errno));
  if (child == 0) {
    const Status entered = enterScratchView(view);
    if (!entered.ok()) (void)writeAll(write.get(), entered.error().message);
    ::_exit(entered.ok() ? 0 : 1);
  }
  write.reset();
  std::string why(1000, '\0');
  const ssize_t got = ::read(read.get(), why.data(), why.size());
  why.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  if (waitFor(child) == 0) return Done{};
  return Error{Error::Kind::kUnsupported, why.empty() ? "it cannot be had" : why};
}

std::string lastLine(const std::string& file) {
  const auto text = readFile(file, kLargestLog);
  if (!text.ok()) return "";
  std::string_view all = text.value(), last;
  while (!all.empty()) {
    const std::size_t begin = all.rfind('\n') + 1;
    const std::string_view line = all.substr(begin);
    all.remove_suffix(all.size() - (begin > 0 ? begin - 1 : 0));
    if (line.empty()) continue;
    if (last.empty()) last = line;
    if (saysMore(line)) return escapeTerminal(line, 400);
  }
  return escapeTerminal(last, 400);
}

std::string endOf(int status) {
  if (WIFSIGNALED(status)) return "was ended by signal " + std::to_string(WTERMSIG(status));
  return "ended with " + std::to_string(WEXITSTATUS(status));
}

}  // namespace stallprof
