// SPDX-License-Identifier: MIT
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>

#include "advise/advise.h"
#include "advise/outside.h"
#include "base/stats.h"
#include "base/text.h"
#include "base/units.h"
#include "experiment/tune_search.h"
#include "present/words/tuning_text.h"
#include "stallprof/interruption.h"
#include "stallprof/output.h"
#include "stallprof/reading.h"
#include "stallprof/trial_command.h"

namespace stallprof {
namespace {

constexpr int kCannotTry = 2;
constexpr double kBusyCores = 0.9;  // in use: what is left are the gaps between threads

class TuneCommand final : public TrialCommand {
 public:
  void declare(CLI::App& app) override {
    app.description(
        "Searches the fastest number of workers, prefetch_factor and threads for the recorded "
        "command, without a change to its code, in few runs: stallprof tune [options] RECORDING "
        "[-- COMMAND...]. The best setting is then measured in alternation with the unchanged "
        "command. Runs write to a copy-on-write view of your files that is discarded afterwards. "
        "Exit status: 0 decided, 1 the recording cannot be read or written, 2 usage or nothing can "
        "be tried, 4 not decided.");
    addText(app, "recording", recording_, "the recording's directory, NAME.stallprof")->required();
    number(app, "--settings", settings_, 2, 15,
           "settings to try, including the command's own (default 5)");
    declareRuns(app);
  }

  int run() override {
    Result<Reading> read = readRecording(recording_);
    if (!read.ok()) return fail(read.error().message, 1);
    const Analysis& analysis = read.value().analyzed.analysis;
    std::string why = takeCommand(read.value().trace.manifest, analysis.run.loaders.size());
    if (why.empty()) why = takeEarlier(kTuneDirectory);
    const auto model = loaderModel(read.value().trace, read.value().analyzed);
    const LoaderInfo* loader =
        model ? loaderAt(analysis, model->where,
                         {"loader_arg", "num_workers", std::to_string(model->workers), ""})
              : nullptr;
    if (why.empty() && (loader == nullptr || !takesSettings(*loader)))
      why = "no PyTorch DataLoader is known to feed this training: there is nothing to tune";
    if (!why.empty()) return fail(why, kCannotTry);
    if (const Status made = makePlace(kTuneDirectory); !made.ok())
      return fail(made.error().message, made.error().kind == Error::Kind::kIo ? 1 : kCannotTry);
    return tune(analysis, *model, *loader);
  }

 private:
  int tune(const Analysis& analysis, const LoaderModel& model, const LoaderInfo& loader) {
    analysis_ = &analysis;
    loader_ = &loader;
    model_ = &model;
    planRuns(analysis);
    plan_.loader = loaderPlace(analysis, loader);
    space_ =
        tuneSpace(model, {loader.workers, std::max(1, loader.prefetch.value_or(2)), 0}, settings_);
    if (model.iterable && space_.workers.size() > 1)
      result_.notes.emplace_back(
          "The data set is iterable. Unless __iter__ divides it by get_worker_info(), each worker "
          "returns all of it, and the number of workers changes the training.");
    noteInterruption();
    result_.tuned.emplace();
    result_.tuned->found.where = loader.where;
    const Search search{"tune", [this] { return next(); },
                        [this](const Result<MeasuredRun>& run) { return take(run); }};
    const Status ran = runSearch(
        plan_, search, result_, [this] { choose(); },
        [this](const Trials& trials) { keepAll(trials); });
    const bool nothing = !ran.ok() && result_.tuned->found.settings.empty();
    if (nothing) restore();
    if (nothing) endByInterruption();
    if (nothing) return fail(ran.error().message, kCannotTry);
    finish();
    if (!ran.ok() && interruption() == 0) (void)fail(ran.error().message, 4);
    return end(foundText(), analysis, kept_,
               result_.tuned->trial.verdict == TrialVerdict::kUndecided ? 4 : 0);
  }

  Maybe<std::vector<std::string>> next() {
    const auto setting = nextSetting(space_, runs_);
    if (!setting) return {};
    current_ = *setting;
    const std::vector<std::string> options = optionsOf(current_);
    std::fprintf(stderr, "stallprof: tune-%zu: %s\n", runs_.size() + 1,
                 options.empty() ? "unchanged" : joinShell(options).c_str());
    return options;
  }

  Status take(const Result<MeasuredRun>& run) {
    TunedSetting seen = shown(current_);
    runs_.push_back({current_, {}, {}});
    if (!run.ok() && runs_.size() == 1) return run.error();
    if (run.ok()) {
      runs_.back().step = run.value().step;
      runs_.back().peakBytes = run.value().peakBytes;
      seen.stepsPerSecond = 1 / run.value().step;
      if (const auto& peak = run.value().peakBytes)
        seen.peakBytes = static_cast<std::int64_t>(*peak);
    } else {
      seen.why = run.error().message;
      std::fprintf(stderr, "stallprof: %s\n", seen.why.c_str());
    }
    result_.tuned->found.settings.push_back(std::move(seen));
    keepAll(result_);
    return Done{};
  }

  // The best of the search; where that is the command unchanged, the best of the others.
  void choose() {
    TunedTrial& tuned = *result_.tuned;
    std::size_t compared = bestRun(runs_);
    plan_.ceilings = compared == 0;  // they say why nothing is faster
    if (compared == 0) compared = bestOther(runs_);
    tuned.found.compared = compared;
    tuned.trial.advice = kTuneDirectory;
    tuned.trial.options = optionsOf(runs_[compared].setting);
    tuned.found.change = changeText(runs_[compared].setting);
    if (compared > 0) {
      result_.trials = {tuned.trial};
      return;
    }
    tuned.trial.verdict = TrialVerdict::kFailed;
    tuned.trial.why = runs_.size() > 1 ? "no other setting gave steps"
                                       : "no other setting fits in the free memory, or in /dev/shm";
  }

  void keepAll(Trials trials) {
    if (!trials.trials.empty()) trials.tuned->trial = trials.trials[0];
    trials.trials.clear();  // it is no fix of the report
    settle(*trials.tuned);
    kept_ = keep(trials);
  }

  void finish() {
    TunedTrial& tuned = *result_.tuned;
    if (!result_.trials.empty()) tuned.trial = result_.trials[0];
    settle(tuned);
    const std::string& said = tuned.trial.why;
    const bool open = tuned.trial.verdict == TrialVerdict::kUndecided;
    tuned.found.why = !said.empty() ? said : open || tuned.found.gains() ? "" : why();
    keepAll(result_);
  }

  // Why nothing is faster, where that is known.
  [[nodiscard]] std::string why() const {
    const auto& base = result_.tuned->trial.base;
    if (result_.replayStep && !base.empty() && median(base) < *result_.replayStep * kWorthTrying)
      return "the step alone is the limit: with data always ready its pace is " +
             rateText(1 / *result_.replayStep, "steps");
    if (model_->coresBusy >= kBusyCores)
      return "the cores are busy: " + percentText(model_->coresBusy) + " of " +
             numberText(model_->cores) + " were in use during the recording";
    return "";
  }

  [[nodiscard]] std::vector<Advice::Change> changesOf(const TuneSetting& setting) const {
    const auto change = [](const char* name, int from, int to) {
      return Advice::Change{"loader_arg", name, std::to_string(from), std::to_string(to)};
    };
    std::vector<Advice::Change> changes;
    if (setting.workers != space_.base.workers)
      changes.push_back(change("num_workers", space_.base.workers, setting.workers));
    if (setting.prefetch != space_.base.prefetch)
      changes.push_back(change("prefetch_factor", space_.base.prefetch, setting.prefetch));
    return changes;
  }

  [[nodiscard]] std::vector<std::string> optionsOf(const TuneSetting& setting) const {
    std::vector<std::string> options = settingOptions(*analysis_, *loader_, changesOf(setting));
    if (setting.threads > 0)
      options.insert(options.end(), {"--threads", std::to_string(setting.threads)});
    return options;
  }

  // What the user writes.
  [[nodiscard]] std::string changeText(const TuneSetting& setting) const {
    const std::vector<Advice::Change> changes = changesOf(setting);
    std::string text = changes.empty() ? "" : changeLine(*analysis_, *loader_, changes);
    if (setting.threads > 0)
      text +=
          (text.empty() ? "" : "; ") +
          fmt::format(analysis_->run.ownThreads
                          ? fmt::runtime("torch.set_num_threads({})")
                          : fmt::runtime("OMP_NUM_THREADS={0} OPENCV_FOR_THREADS_NUM={0} in the "
                                         "environment"),
                      setting.threads);
    return text;
  }

  [[nodiscard]] TunedSetting shown(const TuneSetting& setting) const {
    TunedSetting seen;
    seen.workers = setting.workers;
    if (setting.workers > 0) seen.prefetch = setting.prefetch;
    if (setting.threads > 0) seen.threads = setting.threads;
    const bool plain = setting.prefetch == space_.base.prefetch && setting.threads == 0;
    const auto workers = static_cast<std::size_t>(setting.workers);
    if (plain && workers < space_.gain.size() && analysis_->steps.ratePerSecond)
      seen.predicted = *analysis_->steps.ratePerSecond * space_.gain[workers];
    return seen;
  }

  [[nodiscard]] std::string foundText() const {
    std::string text;
    for (const std::string& line : tuningLines(result_.tuned->found))
      text += escapeTerminal(line) + "\n";
    return text + "\n";
  }

  unsigned settings_ = 5;
  const Analysis* analysis_ = nullptr;
  const LoaderInfo* loader_ = nullptr;
  const LoaderModel* model_ = nullptr;
  TuneSpace space_;
  TuneSetting current_;
  std::vector<TuneRun> runs_;
  Status kept_ = Done{};
};

}  // namespace

std::unique_ptr<Command> makeTune() { return std::make_unique<TuneCommand>(); }

}  // namespace stallprof
