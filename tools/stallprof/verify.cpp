// SPDX-License-Identifier: MIT
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>

#include "base/stats.h"
#include "base/text.h"
#include "present/words/wording.h"
#include "stallprof/interruption.h"
#include "stallprof/output.h"
#include "stallprof/reading.h"
#include "stallprof/trial_command.h"

namespace stallprof {
namespace {

constexpr int kWrongWords = 2, kNotTried = 3;

Maybe<double> medianOf(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : Maybe<double>(median(values));
}

class VerifyCommand final : public TrialCommand {
 public:
  void declare(CLI::App& app) override {
    app.description(
        "Runs the recorded command with the first fixes of its report, without a change to its "
        "code, and adds the measured gains to the report: stallprof verify [options] RECORDING [-- "
        "COMMAND...]. Trials write to a copy-on-write view of your files that is discarded "
        "afterwards. Exit status: 0 all are decided, 1 the recording cannot be read or written, 2 "
        "usage, 3 nothing could be tried, 4 not all are decided.");
    addText(app, "recording", recording_, "the recording's directory, NAME.stallprof")->required();
    number(app, "--trials", trials_, 1, 16, "fixes to try, best first (default 2)");
    addText(app, "--fix", fix_, "try only the changes of this advice (its id in the JSON report)");
    declareRuns(app);
  }

  int run() override {
    Result<Reading> read = readRecording(recording_);
    if (!read.ok()) return fail(read.error().message, 1);
    const Analysis& analysis = read.value().analyzed.analysis;
    const Manifest& manifest = read.value().trace.manifest;
    std::string why = takeCommand(manifest, analysis.run.loaders.size());
    if (!why.empty()) return fail(why, kWrongWords);
    result_.trials = trialsOf(analysis, trials_, fix_);
    if (result_.trials.empty())
      return fail((fix_.empty() ? std::string("no fix of this report")
                                : "no change of this report with the id " + inQuotes(fix_)) +
                      " can be applied from outside: nothing to try (stallprof report " +
                      quoteShell(recording_) + ")",
                  kNotTried);
    why = tooLong(analysis);
    if (why.empty()) why = refused();
    if (!why.empty()) return fail(why, kNotTried);
    if (const Status made = makePlace(fix_); !made.ok())
      return fail(made.error().message, made.error().kind == Error::Kind::kIo ? 1 : kNotTried);
    return tryAll(analysis);
  }

 private:
  [[nodiscard]] std::string refused() {
    if (std::string why = takeEarlier(fix_); !why.empty()) return why;
    return !fix_.empty() && decidedBefore() && !force_
               ? "that fix was tried; --force replaces its result"
               : "";
  }

  int tryAll(const Analysis& analysis) {
    planRuns(analysis);
    if (const auto loader = loaderOptions(analysis)) {
      plan_.ceilings = true;
      plan_.loader = *loader;
    }
    for (std::size_t i = 0; i < result_.trials.size(); ++i)
      std::fprintf(stderr, "stallprof: fix%zu: %s (%s, %s)\n", i + 1,
                   joinShell(result_.trials[i].options).c_str(), result_.trials[i].finding.c_str(),
                   predictedText(result_.trials[i].predicted).c_str());
    noteInterruption();
    Status kept = Done{};
    const Status ran =
        runTrials(plan_, result_, [&](const Trials& trials) { kept = keep(trials); });
    if (!ran.ok()) restore();
    if (!ran.ok()) endByInterruption();
    if (!ran.ok()) return fail(ran.error().message, kNotTried);
    const bool open =
        std::any_of(result_.trials.begin(), result_.trials.end(),
                    [](const Trial& trial) { return trial.verdict == TrialVerdict::kUndecided; });
    return end(trialsText(), analysis, kept, open ? 4 : 0);
  }

  [[nodiscard]] std::string ceilingsText() const {
    const auto line = [](const char* what, const Maybe<double>& step) {
      return step ? fmt::format("{}  {:.3g} steps a second\n", what, 1 / *step) : std::string();
    };
    const std::vector<double>* base = result_.baseRuns();
    const std::string text =
        line("unchanged               ", medianOf(base ? *base : std::vector<double>())) +
        line("data always ready       ", result_.replayStep) +
        line("the loader alone        ", result_.drainStep);
    return text.empty() ? text : text + "\n";
  }

  [[nodiscard]] std::string trialsText() const {
    std::string text;
    for (const Trial& trial : result_.trials) {
      text += fmt::format("{}\n  {}\n", trial.finding, joinShell(trial.options));
      text += "  " + predictedText(trial.predicted) + "\n";
      text += "  measured  " + outcomeText(trial) + "\n\n";
    }
    return text + ceilingsText();
  }

  std::string fix_;
  unsigned trials_ = 2;
};

}  // namespace

std::unique_ptr<Command> makeVerify() { return std::make_unique<VerifyCommand>(); }

}  // namespace stallprof
