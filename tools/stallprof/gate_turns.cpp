// SPDX-License-Identifier: MIT
#include "stallprof/gate_turns.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "base/fd.h"
#include "base/text.h"
#include "base/time.h"

namespace stallprof {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kLargestLog = 1u << 20;  // more of one is not read for its last line

Error cannot(const std::string& what) { return {Error::Kind::kUsage, what}; }

// A directory that was not there before.
Result<std::string> makeTurnDirectory(std::string name) {
  if (name.empty()) {
    const std::time_t when = std::time(nullptr);
    std::tm local{};
    char text[32];
    localtime_r(&when, &local);
    if (std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &local) == 0) text[0] = 0;
    name = "gate." + std::string(text) + ".p" + std::to_string(::getpid());
  }
  std::error_code error;
  if (fs::create_directory(name, error)) return name;
  return cannot(error ? "cannot make " + inQuotes(name) + ": " + error.message()
                      : inQuotes(name) + " exists; stallprof never overwrites");
}

struct OneRun {
  std::string name;       // "base-1"
  std::string recording;  // absolute, as is the log
  std::string log;
  const std::vector<std::string>* command;
  const std::string* directory;  // empty: here
};

std::vector<std::string> wordsOf(const OneRun& run) {
  std::vector<std::string> words = {"stallprof", "run", "--report",    "none", "--progress",
                                    "off",       "-o",  run.recording, "--"};
  words.insert(words.end(), run.command->begin(), run.command->end());
  return words;
}

// In the child. Both sides are recorded alike, whatever configuration stands in their directories.
[[noreturn]] void become(const OneRun& run, int log) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // `run` passes it on
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::setenv("STALLPROF_CONFIG", "none", 1);
  if (!run.directory->empty() && ::chdir(run.directory->c_str()) != 0) {
    std::fprintf(stderr, "%s: %s\n", inQuotes(*run.directory).c_str(), errnoText(errno).c_str());
    ::_exit(125);
  }
  const std::vector<std::string> words = wordsOf(run);
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  ::execv("/proc/self/exe", argv.data());
  ::_exit(125);
}

// The wait status.
Result<int> start(const OneRun& run) {
  const Fd log = openAt(AT_FDCWD, run.log.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (!log.valid()) return cannot("cannot write " + inQuotes(run.log) + ": " + errnoText(errno));
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return cannot("cannot start a run: " + errnoText(errno));
  if (child == 0) become(run, log.get());
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

std::string lastLine(const std::string& file) {
  const auto text = readFile(file, kLargestLog);
  if (!text.ok()) return "";
  std::string_view all = text.value();
  while (!all.empty() && all.back() == '\n') all.remove_suffix(1);
  const std::size_t begin = all.rfind('\n');
  return escapeTerminal(begin == std::string_view::npos ? all : all.substr(begin + 1), 400);
}

std::string endOf(int status) {
  if (WIFSIGNALED(status)) return "was ended by signal " + std::to_string(WTERMSIG(status));
  return "ended with " + std::to_string(WEXITSTATUS(status));
}

// The recording's place is appended to its side.
Status runOne(const OneRun& run, const std::string& which, Turns& turns) {
  const Nanos began = now();
  const auto status = start(run);
  if (!status.ok()) return status.error();
  std::error_code ignored;
  if (!fs::exists(run.recording, ignored)) {
    const std::string said = lastLine(run.log);
    return cannot(run.name + " could not be recorded" + (said.empty() ? "" : ": " + said));
  }
  std::fprintf(stderr, "stallprof: %s: %s %s after %.1f s\n", which.c_str(), run.name.c_str(),
               endOf(status.value()).c_str(), seconds(now() - began));
  (run.name.starts_with("base") ? turns.base : turns.head).push_back(run.recording);
  if (status.value() == 0) return Done{};
  turns.ended = true;
  turns.notes.push_back("No more runs after " + run.name + ", which " + endOf(status.value()) +
                        "; what it said is in " + inQuotes(run.log) + ".");
  return Done{};
}

// Once, before the first run.
Status prepare(const TurnsPlan& plan, Turns& turns) {
  std::error_code error;
  if (!plan.baseDirectory.empty() && !fs::is_directory(plan.baseDirectory, error))
    return cannot(inQuotes(plan.baseDirectory) + " is no directory to run the base in");
  const Result<std::string> made = makeTurnDirectory(plan.keep);
  if (!made.ok()) return made.error();
  turns.place = fs::absolute(made.value(), error).string();
  turns.notes.push_back("Run by turns; recordings and what the commands said are in " +
                        inQuotes(made.value()) + ".");
  return Done{};
}

}  // namespace

Status runByTurns(const TurnsPlan& plan, std::size_t runs, Turns& turns) {
  if (turns.place.empty())
    if (const Status prepared = prepare(plan, turns); !prepared.ok()) return prepared;
  const fs::path place = turns.place;
  const std::string here;
  for (std::size_t i = turns.base.size() + turns.head.size(); i < 2 * runs && !turns.ended; ++i) {
    const std::size_t pair = i / 2;
    const bool base = (i % 2 == 0) == (pair % 2 == 0);  // A B B A
    const std::string name = (base ? "base-" : "head-") + std::to_string(pair + 1);
    const OneRun run = {name, (place / (name + ".stallprof")).string(),
                        (place / (name + ".log")).string(), base ? &plan.base : &plan.head,
                        base ? &plan.baseDirectory : &here};
    const std::string which = "run " + std::to_string(i + 1) + " of " +
                              (plan.fewerMayDo && runs < plan.maximum ? "at most " : "") +
                              std::to_string(2 * plan.maximum);
    const Status ran = runOne(run, which, turns);
    if (!ran.ok()) return ran;
  }
  return Done{};
}

}  // namespace stallprof
