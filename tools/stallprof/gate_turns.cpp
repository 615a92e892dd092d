// SPDX-License-Identifier: MIT
#include "stallprof/gate_turns.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/text.h"
#include "base/time.h"
#include "stallprof/interruption.h"
#include "stallprof/recorded_run.h"

namespace stallprof {
namespace {

namespace fs = std::filesystem;

Error cannot(const std::string& what) { return {Error::Kind::kUsage, what}; }

// A directory that was not there before.
Result<std::string> makeTurnDirectory(std::string name) {
  if (name.empty())
    name = "gate." + localText(realtimeNow(), "%Y%m%d-%H%M%S") + ".p" + std::to_string(::getpid());
  std::error_code error;
  if (fs::create_directory(name, error)) return name;
  return cannot(error ? "cannot make " + inQuotes(name) + ": " + error.message()
                      : inQuotes(name) + " exists; stallprof never overwrites");
}

// The recording's place is appended to its side. Does not return where the user interrupts it.
Status runOne(const RecordedRun& run, const std::string& name, const std::string& which,
              GateTurns& turns) {
  const Nanos began = now();
  const auto status = runRecorded(run);
  if (interruption() != 0) {
    const std::string end = status.ok() ? endOf(status.value()) : "was not recorded";
    std::fprintf(stderr, "stallprof: interrupted: %s %s; recordings and output are in %s\n",
                 name.c_str(), end.c_str(), inQuotes(turns.place).c_str());
    endByInterruption();
  }
  if (!status.ok()) return status.error();
  std::fprintf(stderr, "stallprof: %s: %s %s after %.1f s\n", which.c_str(), name.c_str(),
               endOf(status.value()).c_str(), seconds(now() - began));
  (name.starts_with("base") ? turns.base : turns.head).push_back(run.recording);
  turns.statuses[run.recording] = status.value();
  if (status.value() == 0) return Done{};
  turns.ended = true;
  turns.notes.push_back("The series ended after " + name + ", which " + endOf(status.value()) +
                        "; its output is in " + inQuotes(run.log) + ".");
  return Done{};
}

// Once, before the first run.
Status prepare(const TurnsPlan& plan, GateTurns& turns) {
  if (const Status recorded = checkRecorded(); !recorded.ok()) return recorded;
  std::error_code error;
  if (!plan.baseDirectory.empty() && !fs::is_directory(plan.baseDirectory, error))
    return cannot(inQuotes(plan.baseDirectory) + " is not a directory to run the base in");
  const Result<std::string> made = makeTurnDirectory(plan.keep);
  if (!made.ok()) return made.error();
  turns.place = fs::absolute(made.value(), error).string();
  turns.notes.push_back("Run in alternation; recordings and output of the commands are in " +
                        inQuotes(made.value()) + ".");
  return Done{};
}

}  // namespace

Status runByTurns(const TurnsPlan& plan, std::size_t runs, GateTurns& turns) {
  if (turns.place.empty())
    if (const Status prepared = prepare(plan, turns); !prepared.ok()) return prepared;
  noteInterruption();
  const fs::path place = turns.place;
  for (std::size_t i = turns.base.size() + turns.head.size(); i < 2 * runs && !turns.ended; ++i) {
    endByInterruption();  // one that came between two runs
    const std::size_t pair = i / 2;
    const bool base = (i % 2 == 0) == (pair % 2 == 0);  // A B B A
    const std::string name = (base ? "base-" : "head-") + std::to_string(pair + 1);
    RecordedRun run;
    run.recording = (place / (name + ".stallprof")).string();
    run.log = (place / (name + ".log")).string();
    run.command = base ? plan.base : plan.head;
    if (base) run.directory = plan.baseDirectory;
    const std::string which = "run " + std::to_string(i + 1) + " of " +
                              (plan.fewerMayDo && runs < plan.maximum ? "at most " : "") +
                              std::to_string(2 * plan.maximum);
    const Status ran = runOne(run, name, which, turns);
    if (!ran.ok()) return ran;
  }
  return Done{};
}

}  // namespace stallprof
