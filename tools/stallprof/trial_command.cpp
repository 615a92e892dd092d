// SPDX-License-Identifier: MIT
#include "stallprof/trial_command.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/fd.h"
#include "base/secrets.h"
#include "base/text.h"
#include "base/time.h"
#include "base/units.h"
#include "launch/setup/overrides.h"
#include "stallprof/interruption.h"
#include "stallprof/output.h"
#include "stallprof/recorded_run.h"
#include "stallprof/running.h"

namespace stallprof {
namespace {

namespace fs = std::filesystem;
constexpr char kReplaced[] = ".replaced";  // in a directory of trials: what was in it before
// Steps of a run: warm-up is 5 s of it or 10 steps (analysis/steps/README.md), and the rest
// decides.
constexpr double kWindowSeconds = 20, kWindowSteps = 40, kLongestWindow = 600;

bool setByLauncher(std::string_view name) {
  for (const std::string_view prefix :
       {"SLURM_", "OMPI_", "PMI_", "HOROVOD_", "TORCHELASTIC_", "MASTER_", "LD_PRELOAD"})
    if (name.starts_with(prefix)) return true;
  return name.ends_with("RANK") || name.ends_with("WORLD_SIZE") || name.ends_with("JOBID") ||
         name == "JOB_ID";
}

// What runs left in a directory of trials.
std::vector<fs::path> runsIn(const fs::path& place) {
  std::error_code error;
  std::vector<fs::path> runs;
  for (const auto& entry : fs::directory_iterator(place, error)) {
    const std::string name = entry.path().filename().string();
    if (name != kTuneDirectory && name != kReplaced && name != fs::path(kTrialsFile).filename())
      runs.push_back(entry.path());
  }
  return runs;
}

void moveInto(const fs::path& directory, const fs::path& path, std::error_code& error) {
  fs::create_directory(directory, error);
  if (!error) fs::rename(path, directory / path.filename(), error);
}

bool anyDecided(const std::vector<Trial>& trials) {
  return std::any_of(trials.begin(), trials.end(),
                     [](const Trial& trial) { return trial.verdict != TrialVerdict::kUndecided; });
}

}  // namespace

void TrialCommand::number(CLI::App& app, const std::string& name, unsigned& into, unsigned minimum,
                          unsigned maximum, const char* help) {
  const std::string takes =
      "a whole number from " + std::to_string(minimum) + " to " + std::to_string(maximum);
  addWhole(app, name, {minimum, maximum, takes}, help, [&into](unsigned value) { into = value; });
}

void TrialCommand::declareRuns(CLI::App& app) {
  number(app, "--steps", steps_, 10, 1000000000, "steps per run, warm-up included");
  number(app, "--for", seconds_, 2, 86400,
         "seconds of steps per run, warm-up included (default 20, or 40 steps if longer)");
  number(app, "--runs", runs_, 4, 50,
         "runs per side before the first decision, 4 to 50 (default 4)");
  number(app, "--max-runs", maximum_, 4, 100,
         "maximum runs per side (default: half as many again)");
  app.add_flag("--in-place", inPlace_,
               "run on your own files, without a copy-on-write view; files that the command writes "
               "are kept");
  app.add_flag("--force", force_, "replace existing trials of the recording");
}

void TrialCommand::parse(CLI::App& app, const std::vector<std::string>& words) {
  const SplitWords split = splitAtDashes(words);
  parseWords(app, split.before);
  command_ = split.after;
  // That of a configuration file is for fewer --runs.
  if (app.count("--max-runs") == 0 && maximum_ > 0) maximum_ = std::max(maximum_, runs_);
}

std::string TrialCommand::check() {
  if (maximum_ > 0 && maximum_ < runs_) return "--max-runs is less than --runs";
  return "";
}

// False where another call has it. What one that was killed left may need its grace to end.
bool TrialCommand::lock() {
  constexpr Nanos kWait = std::chrono::seconds(6);
  lock_ = openAt(AT_FDCWD, recording_.c_str(), O_RDONLY | O_DIRECTORY);
  const Nanos until = now() + kWait;
  while (lock_.valid() && ::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) break;  // a file system without locks
    if (now() > until) return false;
    ::poll(nullptr, 0, 100);
  }
  return true;
}

std::string TrialCommand::takeCommand(const Manifest& manifest, std::size_t loaders) {
  if (manifest.imported()) return "an imported trace has no command to run";
  plan_.directory = manifest.directory.raw();
  takeEnvironment(manifest);
  for (const Untrusted& map : manifest.maps)
    plan_.base.insert(plan_.base.end(), {"--map", map.raw()});
  if (!lock()) return "another verify or tune of this recording is running";
  if (stillRuns(recording_))
    return "the recorded command still runs: it and the trials would slow each other down";
  std::error_code error;
  if (!fs::is_directory(plan_.directory, error))
    return "the directory of the recorded run does not exist: " + inQuotes(plan_.directory);
  if (!command_.empty()) {
    plan_.command = command_;
    return takeOverrides(manifest.overrides, loaders);
  }
  bool masked = manifest.wordsLeftOut > 0 || manifest.command.empty();
  for (const Untrusted& word : manifest.command) {
    masked = masked || hasMask(word.raw());
    plan_.command.push_back(word.raw());
  }
  return masked ? "the recording does not contain the whole command (secrets are masked): give it "
                  "after a bare --"
                : takeOverrides(manifest.overrides, loaders);
}

// Which GPU, how many threads, which allocator: as in the recorded run, unless this shell says
// otherwise. What a launcher sets says where a process is among others, and is not repeated.
void TrialCommand::takeEnvironment(const Manifest& manifest) {
  std::string same, other;
  for (const auto& [name, value] : manifest.environment) {
    if (hasMask(value.raw()) || setByLauncher(name)) continue;
    const char* const here = std::getenv(name.c_str());
    if (here == nullptr) plan_.environment.push_back(name + "=" + value.raw());
    if (here != nullptr && here == value.raw()) continue;
    std::string& list = here == nullptr ? same : other;
    list += (list.empty() ? "" : ", ") + name;
  }
  if (!same.empty()) result_.notes.push_back("Set as in the recorded run: " + same + ".");
  if (!other.empty())
    result_.notes.push_back("Set as in this shell, not as in the recorded run: " + other + ".");
}

// What was changed in the recorded run is changed in all of these; how it ended is not. A fix of
// one loader comes with a --loader, which would limit the recorded --set to it, too.
std::string TrialCommand::takeOverrides(const std::vector<Untrusted>& words, std::size_t loaders) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& option = words[i].raw();
    if (option.starts_with("--replay") || option.starts_with("--drain"))
      return "this is a recording of " + option + ": make a recording of the unchanged command";
    if (i + 1 == words.size()) break;
    const std::string& value = words[++i].raw();
    if (hasMask(value)) {
      const std::string name = value.substr(0, value.find('='));
      if (option == "--env" && std::getenv(name.c_str()) != nullptr) continue;  // as in this shell
      return "the recording does not contain a value of " + option + " (secrets are masked)" +
             (option == "--env" ? ": set " + name + " in this shell" : "");
    }
    if (option == "--set" && loaders > 1)
      return "this is a recording of --set, and the program has several loaders: make one of the "
             "program with that setting in it";
    if (option != "--steps" && option != "--for" && option != "--count-from")
      plan_.base.insert(plan_.base.end(), {option, value});
  }
  return "";
}

std::string TrialCommand::allTrials() const {
  std::error_code error;
  return (fs::absolute(recording_, error) / kTrialsDirectory).string();
}

// What `tune` left stays beside other trials, and those beside it.
std::string TrialCommand::takeEarlier(const std::string& name) {
  auto trials = readTrials(recording_);
  if (trials.ok() && trials.value()) earlier_ = std::move(*trials.value());
  if (force_) return "";
  if (!trials.ok()) return trials.error().message + "; --force replaces it";
  if (name == kTuneDirectory)
    return earlier_.tuned && earlier_.tuned->trial.verdict != TrialVerdict::kUndecided
               ? "the recording has a result of tune; --force replaces it"
               : "";
  // Runs without an outcome are of a call that was killed: nothing refers to them.
  return anyDecided(earlier_.trials) && name.empty()
             ? "the recording has trials; --force replaces them, --fix adds to them"
             : "";
}

Status TrialCommand::makePlace(const std::string& name) {
  std::error_code error;
  const fs::path all = allTrials();
  // What a link leads to is not the recording's: it would be emptied below.
  for (const fs::path& linked :
       {all, all / kTuneDirectory, all / name, all / kReplaced, all / name / kReplaced})
    if (fs::is_symlink(fs::symlink_status(linked, error)))
      return Error{Error::Kind::kUnsupported,
                   inQuotes(linked.string()) + " is a symbolic link: trials are not kept in it"};
  const bool had = fs::exists(all, error);
  // One fix more has a place of its own beside the others.
  const bool below = !name.empty() && (had || name == kTuneDirectory);
  const fs::path place = below ? all / name : all;
  if (!below) {  // replaced
    earlier_.trials.clear();
    earlier_.replayStep.reset();
    earlier_.drainStep.reset();
  }
  const bool made = fs::create_directories(place, error);
  if (!made && error)
    return Error{Error::Kind::kIo,
                 "cannot make " + inQuotes(place.string()) + ": " + error.message()};
  plan_.place = fs::canonical(place, error).string();
  if (const Status view = makeView(); !view.ok()) {
    if (made) fs::remove(place, error);
    if (!had) fs::remove(all, error);
    return view;
  }
  return setAside();
}

// Runs of earlier trials stay until these have a first result: a command that no longer runs costs
// nothing of what is known. Where a call that was killed set them aside, what is beside them is of
// that call. The outcome is replaced by its next.
Status TrialCommand::setAside() const {
  std::error_code error;
  const fs::path place = plan_.place, aside = place / kReplaced;
  const bool left = fs::exists(aside, error);
  for (const fs::path& path : runsIn(place)) {
    if (left)
      fs::remove_all(path, error);
    else
      moveInto(aside, path, error);
    if (error)
      return Error{Error::Kind::kIo, "cannot replace the earlier trials in " +
                                         inQuotes(place.string()) + ": " + error.message()};
  }
  return Done{};
}

void TrialCommand::restore() const {
  std::error_code error;
  const fs::path place = plan_.place, aside = place / kReplaced;
  if (!fs::exists(aside, error)) return;
  for (const fs::path& path : runsIn(place)) fs::remove_all(path, error);
  for (const fs::path& path : runsIn(aside)) fs::rename(path, place / path.filename(), error);
  fs::remove(aside, error);
}

Status TrialCommand::makeView() {
  view_ = {plan_.directory, plan_.place};
  if (inPlace_) return Done{};
  const Status had = tryScratchView(view_);
  if (had.ok()) plan_.view = &view_;
  if (had.ok()) return had;
  return Error{Error::Kind::kUnsupported,
               "a copy-on-write view of your files is not available here (" + had.error().message +
                   "): a trial would write to your files. Use --in-place to run it anyway"};
}

Trials TrialCommand::withEarlier(Trials trials) const {
  const auto same = [&](const Trial& earlier) {
    return std::any_of(trials.trials.begin(), trials.trials.end(),
                       [&](const Trial& t) { return t.options == earlier.options; });
  };
  std::vector<Trial> kept;
  for (const Trial& trial : earlier_.trials)
    if (!same(trial)) kept.push_back(trial);
  trials.trials.insert(trials.trials.begin(), kept.begin(), kept.end());
  if (!trials.replayStep) trials.replayStep = earlier_.replayStep;
  if (!trials.drainStep) trials.drainStep = earlier_.drainStep;
  trials.tunedLast = trials.tuned.has_value();
  if (!trials.tuned) trials.tuned = earlier_.tuned;
  return trials;
}

bool TrialCommand::decidedBefore() const {
  std::vector<Trial> same;
  for (const Trial& earlier : earlier_.trials)
    for (const Trial& trial : result_.trials)
      if (trial.options == earlier.options) same.push_back(earlier);
  return anyDecided(same);
}

Status TrialCommand::keep(const Trials& trials) const {
  const Status kept = writeOutput(recording_ + "/" + kTrialsFile, trialsJson(withEarlier(trials)));
  std::error_code error;
  if (kept.ok()) fs::remove_all(fs::path(plan_.place) / kReplaced, error);
  return kept;
}

void TrialCommand::planRuns(const Analysis& analysis) {
  plan_.runs = runs_;
  plan_.trains = analysis.steps.optimizerSteps > 0;
  plan_.recorded = analysis.run;
  if (analysis.steps.source == "nvtx") plan_.base.emplace_back("--nvtx");
  constexpr double kLittle = 0.005;
  if (const auto recorded = stepSeconds(analysis)) plan_.periodicStep = recorded->periodic;
  plan_.maximum = maximum_ > 0 ? maximum_ : runs_ + (runs_ + 1) / 2;
  const double step = analysis.steps.ratePerSecond ? 1 / *analysis.steps.ratePerSecond : 0;
  if (steps_ > 0) {
    plan_.window = {"--steps", std::to_string(steps_)};
    plan_.drainSeconds = static_cast<unsigned>(std::clamp(steps_ * step, 2.0, kWindowSeconds));
  } else {
    const double usual = std::clamp(kWindowSteps * step, kWindowSeconds, kLongestWindow);
    result_.windowSeconds = seconds_ > 0 ? seconds_ : std::ceil(usual);
    plan_.window = {"--for", fmt::format("{:.0f}", result_.windowSeconds)};
    plan_.drainSeconds = static_cast<unsigned>(result_.windowSeconds);
  }
  // What comes before, an evaluation or a search, is not what is tried.
  if (plan_.trains) plan_.window.insert(plan_.window.end(), {"--count-from", kFromUpdate});
  result_.inPlace = inPlace_;
  result_.notes.push_back(inPlace_ ? "Trials ran on your own files (--in-place)."
                                   : "Trials ran on a copy-on-write view of your files, in memory. "
                                     "Files that they wrote are discarded.");
  result_.notes.push_back("Experiment trackers were set to offline mode by their own variables (" +
                          offlineTrackers().front() +
                          " and others), unless this shell disables them or the program's code "
                          "names a server or mode. Other network traffic was not changed.");
  if (plan_.periodicStep > kLittle * step)
    result_.notes.push_back(std::string(kPeriodicNote) + " in the recorded run, " +
                            percentText(plan_.periodicStep / step) +
                            " of its time. Short runs can contain too much or too little of them.");
}

int TrialCommand::end(std::string text, const Analysis& recorded, const Status& kept,
                      int status) const {
  const std::string other = otherPace(result_, recorded);
  if (!other.empty()) text += other + "\n";
  for (const std::string& line : result_.notes) text += line + "\n";
  if (kept.ok()) text += "To show the results: stallprof report " + quoteShell(recording_) + "\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (!kept.ok()) status = fail("the report lacks these results: " + kept.error().message, 1);
  endByInterruption();
  return status;
}

}  // namespace stallprof
