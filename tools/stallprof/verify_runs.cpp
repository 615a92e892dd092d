// SPDX-License-Identifier: MIT
#include "stallprof/verify_runs.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "base/stats.h"
#include "base/text.h"
#include "base/time.h"
#include "base/units.h"
#include "gate/interim.h"
#include "launch/setup/overrides.h"
#include "stallprof/interruption.h"
#include "stallprof/reading.h"
#include "stallprof/recorded_run.h"

namespace stallprof {
namespace {

namespace fs = std::filesystem;

// One-sided, of a fix that is the same as the base to be called a gain; shared by the judgements.
constexpr double kAlpha = 0.05;
// Above this the report itself calls the host noisy (host.noisy_neighbour).
constexpr double kNoisy = 0.05;
// A run takes at most so many times the longest before it, and so much: one that waits for a lock
// that nobody holds would never end. The first is the command as it was recorded, which did end.
constexpr int kLongerBy = 3;
constexpr Nanos kMinMargin = std::chrono::seconds(10);

constexpr char kOnView[] =
    " (on a copy-on-write view of your files; --in-place runs on the files themselves)";

// This shell keeps that tracker from the network already: offline it would write more than now. A
// folder that it writes to is the user's own, unless there is a view of it.
bool isSwitchedOff(const std::string& variable, bool inView) {
  const char* const here = std::getenv(variable.substr(0, variable.find('=')).c_str());
  if (here == nullptr) return false;
  const std::string_view value(here);
  constexpr std::string_view kOff[] = {"disabled", "dryrun", "offline", "debug"};
  return (inView && value.starts_with("file:")) ||
         std::find(std::begin(kOff), std::end(kOff), value) != std::end(kOff);
}

class Runs {
 public:
  Runs(const VerifyPlan& plan, Trials& trials) : plan_(plan), trials_(trials) {}

  Status search(const Search& search);
  Status rounds(const std::function<void(const Trials&)>& keep);

 private:
  static constexpr std::size_t kBase = static_cast<std::size_t>(-1);
  Status round(std::size_t number);
  // What is known where there are no more runs; the Error, where that is nothing.
  Status stopped(const Error& why);
  void measureCeilings();
  void judge(double alpha);
  [[nodiscard]] bool decided() const;
  void compareMemory();
  [[nodiscard]] RecordedRun recordedRun(const std::string& name,
                                        const std::vector<std::string>& options) const;
  // An Error where it ended as no run of the command as it is did: it is no measurement of a fix,
  // whatever steps it made before. Programs that handle TERM may end with another status than 0.
  [[nodiscard]] Status endedAsEver(const std::string& name, const MeasuredRun& measured) const;
  // That, and an Error for a changed one that stands still or ended otherwise.
  Result<MeasuredRun> judged(const std::string& name, const std::vector<std::string>& options,
                             bool asItIs);
  // The Error says why it gave no steps.
  Result<MeasuredRun> run(const std::string& name, const std::vector<std::string>& options);
  Status run(std::size_t which, std::size_t number);
  void choosePeriodic(const StepSeconds& step, const TrainerFacts& trainer);
  // One note of all runs, kept up to date: `ratio` of the CPUs went to others during this one.
  void noteOthers(double ratio);
  [[nodiscard]] bool open(const Trial& trial) const {
    return trial.verdict == TrialVerdict::kUndecided && trial.why.empty();
  }

  const VerifyPlan& plan_;
  Trials& trials_;
  std::vector<double> base_;
  std::map<std::size_t, std::vector<double>> bytes_;  // peaks, by trial; kBase: as it is
  bool ownPeriodic_ = false;                          // evaluation counts as in each run
  std::int64_t runs_ = 0, noisyRuns_ = 0;
  double noise_ = 0;    // the most of any run
  Nanos longest_{};     // run that gave steps
  double silent_ = 0;   // the longest at the end of a run of the command as it is, at its TERM
  std::set<int> ends_;  // statuses of those
  Maybe<std::size_t> noiseNote_;
};

void Runs::noteOthers(double ratio) {
  ++runs_;
  noisyRuns_ += ratio > kNoisy ? 1 : 0;
  noise_ = std::max(noise_, ratio);
  if (noisyRuns_ == 0) return;
  if (!noiseNote_) {
    noiseNote_ = trials_.notes.size();
    trials_.notes.emplace_back();
  }
  trials_.notes[*noiseNote_] = "Other programs or the hypervisor took more than " +
                               percentText(kNoisy) + " of the CPUs during " +
                               countText(noisyRuns_) + " of " + countText(runs_) + " runs, " +
                               percentText(noise_) + " at most.";
}

Status Runs::endedAsEver(const std::string& name, const MeasuredRun& measured) const {
  if (measured.status == 0 || ends_.contains(measured.status)) return Done{};
  const std::string said = lastLine(recordedRun(name, {}).log);
  return Error{Error::Kind::kUsage,
               name + " " + endOf(measured.status) + (said.empty() ? "" : ": " + said)};
}

// One that stands still at its end made steps that say nothing of a gain. One that works on at
// something else may be in a long evaluation: neither is known.
Result<MeasuredRun> Runs::judged(const std::string& name, const std::vector<std::string>& options,
                                 bool asItIs) {
  auto measured = run(name, options);
  if (!measured.ok()) return measured;
  const TrialEnd end = measured.value().end;
  if (asItIs) {
    silent_ = std::max(silent_, end.silent);
    ends_.insert(measured.value().status);
    return measured;
  }
  const Status ended = endedAsEver(name, measured.value());
  if (!ended.ok()) return ended.error();
  if (!tooSilent(end, silent_, trials_.windowSeconds)) return measured;
  std::string why = fmt::format("{} made no step in the last {:.1f} s of its {:.0f}", name,
                                end.silent, trials_.windowSeconds);
  if (end.still) return Error{Error::Kind::kUsage, std::move(why)};
  measured.value().unsure = why +
                            ", in which it did other work; --for SECONDS or --steps can end "
                            "it before";
  return measured;
}

RecordedRun Runs::recordedRun(const std::string& name,
                              const std::vector<std::string>& options) const {
  RecordedRun run;
  run.recording = (fs::path(plan_.place) / (name + ".stallprof")).string();
  run.log = (fs::path(plan_.place) / (name + ".log")).string();
  run.command = plan_.command;
  run.directory = plan_.directory;
  run.options = plan_.base;
  run.options.insert(run.options.end(), options.begin(), options.end());
  run.environment = plan_.environment;
  for (const std::string& variable : offlineTrackers())
    if (!isSwitchedOff(variable, plan_.view != nullptr)) run.environment.push_back(variable);
  run.view = plan_.view;
  run.trial = true;
  if (longest_ > Nanos(0)) run.limit = kLongerBy * longest_ + kMinMargin;
  return run;
}

Result<MeasuredRun> Runs::run(const std::string& name, const std::vector<std::string>& options) {
  const Error interrupted{Error::Kind::kUsage, name + " was interrupted"};
  if (interruption() != 0) return interrupted;
  const RecordedRun run = recordedRun(name, options);
  const Nanos began = now();
  const auto status = runRecorded(run);
  if (interruption() != 0) return interrupted;
  if (!status.ok()) return status.error();
  const Nanos took = now() - began;
  if (wasLate(status.value()))
    return Error{
        Error::Kind::kUsage,
        fmt::format("{} had not ended after {} and was ended; no earlier run took more than {}",
                    name, durationText(run.limit), durationText(longest_))};
  const auto read = readRecording(run.recording);
  if (!read.ok()) return read.error();
  const Analysis& analysis = read.value().analyzed.analysis;
  const Maybe<StepSeconds> step = stepSeconds(analysis);
  // A loader alone updates nothing.
  const bool drains = std::any_of(options.begin(), options.end(),
                                  [](const auto& o) { return o.starts_with("--drain"); });
  if (!step || analysis.steps.windowCount < 2) {
    const std::string said = lastLine(run.log);
    const bool inView = plan_.view != nullptr && longest_ == Nanos(0);  // which may be why
    const char* const few = analysis.steps.windowCount > 0
                                ? " made fewer than two steps to measure and "
                                : " made no steps and ";
    return Error{Error::Kind::kUsage, name + few + endOf(status.value()) +
                                          (said.empty() ? "" : ": " + said) +
                                          (inView ? kOnView : "")};
  }
  if (plan_.trains && !drains && analysis.steps.optimizerSteps == 0)
    return Error{Error::Kind::kUsage,
                 name +
                     " ended before it trained: its steps are of an evaluation, or of another pass "
                     "over data before the training"};
  if (longest_ == Nanos(0))  // of the first run: all are on this host
    if (const std::string other = otherHost(plan_.recorded, analysis.run); !other.empty())
      return Error{Error::Kind::kUsage, "the recorded run was on another host (" + other +
                                            "): make a recording on this host, and try that"};
  const Resources& used = analysis.resources;
  noteOthers(used.externalCpuRatio.value_or(0) + used.stealRatio.value_or(0));
  if (longest_ == Nanos(0)) choosePeriodic(*step, read.value().analyzed.trainer);
  const double paced = step->plain + (drains || ownPeriodic_ ? step->periodic : plan_.periodicStep);
  std::fprintf(stderr, "stallprof: %s: %s a step, %s steps in the window, after %.1f s\n",
               name.c_str(), durationText(fromSeconds(paced)).c_str(),
               countText(analysis.steps.windowCount).c_str(), seconds(took));
  longest_ = std::max(longest_, took);
  MeasuredRun measured{paced, {}, {}, {}, status.value()};
  if (plan_.window.at(0) == "--for" && plan_.trains)
    measured.end =
        endOfTrial(read.value().trace, read.value().analyzed.trainer.thread, trials_.windowSeconds);
  if (const auto& peak = analysis.resources.peakRssBytes)
    measured.peakBytes = static_cast<double>(*peak);
  return measured;
}

// By the first run, which is of the command as it is.
void Runs::choosePeriodic(const StepSeconds& step, const TrainerFacts& trainer) {
  std::size_t evaluations = 0;
  for (const Epoch& epoch : trainer.epochs)
    evaluations += epoch.evaluation && trainer.windowInterval().contains(epoch.begin);
  ownPeriodic_ = representsPeriodicWork(step, plan_.periodicStep, evaluations);
  for (std::string& note : trials_.notes)
    if (ownPeriodic_ && note.starts_with(kPeriodicNote))
      note =
          fmt::format("{} in each run: the first had {} evaluations.", kPeriodicNote, evaluations);
}

Status Runs::run(std::size_t which, std::size_t number) {
  const std::string name = which == kBase ? "base" : "fix" + std::to_string(which + 1);
  std::vector<std::string> options = plan_.window;
  if (which != kBase) {
    const auto& fix = trials_.trials[which].options;
    options.insert(options.end(), fix.begin(), fix.end());
  }
  const std::string run = name + "-" + std::to_string(number);
  auto measured = judged(run, options, which == kBase);
  // By chance, as it ran before: all that was measured would be of no use.
  if (!measured.ok() && which == kBase && longest_ > Nanos(0) && interruption() == 0) {
    trials_.notes.push_back(measured.error().message + ". That run was repeated.");
    std::fprintf(stderr, "stallprof: %s\n", trials_.notes.back().c_str());
    measured = judged(run + "-again", options, true);
  }
  if (measured.ok() && !measured.value().unsure.empty()) {
    leaveUndecided(trials_.trials[which], measured.value().unsure);
    return Done{};
  }
  if (measured.ok()) {
    (which == kBase ? base_ : trials_.trials[which].fix).push_back(measured.value().step);
    if (measured.value().peakBytes) bytes_[which].push_back(*measured.value().peakBytes);
    return Done{};
  }
  if (which == kBase || interruption() != 0) return measured.error();
  trials_.trials[which].verdict = TrialVerdict::kFailed;
  trials_.trials[which].why = measured.error().message;
  return Done{};
}

// Once each: they say how far apart the two are, which is far more than runs differ.
void Runs::measureCeilings() {
  std::vector<std::string> replay = plan_.window, drain = plan_.loader;
  replay.insert(replay.end(), plan_.loader.begin(), plan_.loader.end());
  replay.emplace_back("--replay");
  drain.push_back("--drain=" + std::to_string(plan_.drainSeconds));
  if (plan_.trains) drain.insert(drain.end(), {"--count-from", kFromUpdate});
  const auto take = [&](const std::string& name, const std::vector<std::string>& options,
                        Maybe<double>& into) {
    const auto measured = run(name, options);
    const Status ended =
        measured.ok() ? endedAsEver(name, measured.value()) : Status(measured.error());
    if (ended.ok())
      into = measured.value().step;
    else if (interruption() == 0)
      trials_.notes.push_back("No ceiling by " + name + ": " + ended.error().message + ".");
  };
  take("replay", replay, trials_.replayStep);
  take("drain", drain, trials_.drainStep);
}

Status Runs::round(std::size_t number) {
  std::vector<std::size_t> order = {kBase};
  for (std::size_t i = 0; i < trials_.trials.size(); ++i)
    if (open(trials_.trials[i])) order.push_back(i);
  if (number % 2 == 0) std::reverse(order.begin(), order.end());
  for (const std::size_t which : order)
    if (const Status ran = run(which, number); !ran.ok()) return stopped(ran.error());
  for (Trial& trial : trials_.trials)
    if (open(trial)) trial.base = base_;
  compareMemory();
  return Done{};
}

Status Runs::stopped(const Error& why) {
  bool any = false;
  for (Trial& trial : trials_.trials) {
    if (open(trial)) {
      trial.base = base_;
      leaveUndecided(trial, why.message);
    }
    any = any || trial.speedup || trial.verdict == TrialVerdict::kFailed;
  }
  return any ? Status(Done{}) : why;
}

void Runs::compareMemory() {
  if (bytes_[kBase].empty()) return;
  for (std::size_t i = 0; i < trials_.trials.size(); ++i)
    if (!bytes_[i].empty()) trials_.trials[i].moreBytes = median(bytes_[i]) - median(bytes_[kBase]);
}

void Runs::judge(double alpha) {
  for (Trial& trial : trials_.trials)
    if (open(trial)) judgeTrial(trial, alpha);
}

bool Runs::decided() const {
  return std::none_of(trials_.trials.begin(), trials_.trials.end(),
                      [&](const Trial& trial) { return open(trial); });
}

Status Runs::rounds(const std::function<void(const Trials&)>& keep) {
  const auto interims = interimsOf(plan_.runs, plan_.maximum, plan_.runs);
  const double alpha = kAlpha / static_cast<double>(interims.size());
  for (std::size_t number = 1; number <= interims.back() && !decided(); ++number) {
    if (const Status ran = round(number); !ran.ok()) return ran;
    if (number == 1 && plan_.ceilings) measureCeilings();
    const bool judged = std::find(interims.begin(), interims.end(), number) != interims.end();
    // What is shown meanwhile is no judgement: nothing is decided between the planned ones.
    if (judged) judge(alpha);
    keep(trials_);
  }
  return Done{};
}

Status Runs::search(const Search& search) {
  for (std::size_t number = 1;; ++number) {
    const auto options = search.next();
    if (!options) return Done{};
    std::vector<std::string> all = plan_.window;
    all.insert(all.end(), options->begin(), options->end());
    const std::string name = search.name + "-" + std::to_string(number);
    const auto measured = judged(name, all, number == 1);
    if (interruption() != 0) return measured.error();
    if (const Status taken = search.take(measured); !taken.ok()) return taken;
  }
}

}  // namespace

const std::vector<std::string>& offlineTrackers() {
  static const std::vector<std::string> kVariables = {
      "WANDB_MODE=offline",
      "COMET_START_ONLINE=0",      // of comet_ml.start()
      "COMET_AUTO_LOG_DISABLE=1",  // of comet_ml.Experiment()
      "NEPTUNE_MODE=offline",     "CLEARML_OFFLINE_MODE=1",
      "SWANLAB_MODE=local",       "MLFLOW_TRACKING_URI=file:mlruns"};
  return kVariables;
}

Status runTrials(const VerifyPlan& plan, Trials& trials,
                 const std::function<void(const Trials&)>& keep) {
  return Runs(plan, trials).rounds(keep);
}

Status runSearch(VerifyPlan& plan, const Search& search, Trials& trials,
                 const std::function<void()>& chosen,
                 const std::function<void(const Trials&)>& keep) {
  Runs runs(plan, trials);
  if (const Status ran = runs.search(search); !ran.ok()) return ran;
  chosen();
  return runs.rounds(keep);
}

}  // namespace stallprof
