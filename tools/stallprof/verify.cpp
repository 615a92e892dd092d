// SPDX-License-Identifier: MIT
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "base/fd.h"
#include "base/stats.h"
#include "base/text.h"
#include "experiment/trials_file.h"
#include "present/words/wording.h"
#include "stallprof/command_line.h"
#include "stallprof/output.h"
#include "stallprof/reading.h"
#include "stallprof/recorded_run.h"
#include "stallprof/verify_runs.h"

namespace stallprof {
namespace {

namespace fs = std::filesystem;
constexpr int kWrongWords = 2, kNotTried = 3;
// Steps of a run: warm-up is 5 s of it or 10 steps (analysis/steps/README.md), and the rest
// decides.
constexpr double kWindowSeconds = 20, kWindowSteps = 40, kLongestWindow = 600;

Maybe<double> medianOf(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : Maybe<double>(median(values));
}

std::string changeText(const Trial& trial) {
  std::string text;
  for (const std::string& word : trial.options)
    text += (text.empty() ? "" : " ") + quoteShell(word);
  return text;
}

class VerifyCommand final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.description(
        "Tries the first fixes of a report on the recorded command, its code unchanged, and puts "
        "the measured gain beside the predicted one: stallprof verify [options] RECORDING [-- "
        "COMMAND...]. Trials write to a copy-on-write view of your files that is gone afterwards. "
        "Exit status: 0 all were decided, 2 usage, 3 nothing could be tried, 4 not all decided.");
    addText(app, "recording", recording_, "the recording's directory, NAME.stallprof")->required();
    number(app, "--trials", trials_, 1, 16, "fixes to try, best first (default 2)");
    addText(app, "--fix", fix_, "try the changes of this advice alone (its id in the JSON report)");
    number(app, "--steps", steps_, 10, 1000000000, "steps of each run, warm-up included");
    number(app, "--for", seconds_, 2, 86400,
           "seconds of steps of each run, warm-up included (default 20, or 40 steps if longer)");
    number(app, "--runs", runs_, 4, 50, "runs a side before the first judgement (default 4)");
    number(app, "--most", maximum_, 4, 100, "runs a side at most (default half as many again)");
    app.add_flag("--in-place", inPlace_,
                 "run on your own files where no copy-on-write view can be had: what the command "
                 "writes is written");
    app.add_flag("--force", force_, "replace the trials that the recording has");
  }

  void parse(CLI::App& app, const std::vector<std::string>& words) override {
    const SplitWords split = splitAtDashes(words);
    parseWords(app, split.before);
    command_ = split.after;
  }

  std::string check() override {
    if (maximum_ > 0 && maximum_ < runs_) return "--most is less than --runs";
    return "";
  }

  int run() override {
    Result<Reading> read = readRecording(recording_);
    if (!read.ok()) return fail(read.error().message, 1);
    const Analysis& analysis = read.value().analyzed.analysis;
    const Manifest& manifest = read.value().trace.manifest;
    if (const std::string why = takeCommand(manifest); !why.empty()) return fail(why, kWrongWords);
    result_.trials = trialsOf(analysis, trials_, fix_);
    if (result_.trials.empty())
      return fail((fix_.empty() ? std::string("no fix of this report")
                                : "no change of this report by the name " + inQuotes(fix_)) +
                      " can be made from outside: nothing to try (stallprof report " +
                      quoteShell(recording_) + ")",
                  kNotTried);
    if (const Status made = makePlace(); !made.ok()) return fail(made.error().message, kNotTried);
    return tryAll(analysis);
  }

 private:
  static void number(CLI::App& app, const std::string& name, unsigned& into, unsigned minimum,
                     unsigned maximum, const char* help) {
    addParsed(app, name, help,
              [name, &into, minimum, maximum](const std::string& text) -> std::string {
                const auto value = wholeNumber(text, minimum, maximum);
                into = value.value_or(into);
                return value ? ""
                             : name + " takes a whole number from " + std::to_string(minimum) +
                                   " to " + std::to_string(maximum) + ", not " + inQuotes(text);
              });
  }

  // The command and directory of the recording; why they cannot be had.
  std::string takeCommand(const Manifest& manifest) {
    plan_.directory = manifest.directory.raw();
    std::error_code error;
    if (!fs::is_directory(plan_.directory, error))
      return "the directory of the recorded run is not there: " + inQuotes(plan_.directory);
    if (!command_.empty()) {
      plan_.command = command_;
      return takeOverrides(manifest.overrides);
    }
    bool masked = manifest.wordsLeftOut > 0 || manifest.command.empty();
    for (const Untrusted& word : manifest.command) {
      masked = masked || word.raw().find("***") != std::string::npos;
      plan_.command.push_back(word.raw());
    }
    return masked ? "the recording does not hold the whole command (secrets are masked): give it "
                    "after a bare --"
                  : takeOverrides(manifest.overrides);
  }

  // What was changed in the recorded run is changed in all of these; how it ended is not.
  std::string takeOverrides(const std::vector<Untrusted>& words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string& option = words[i].raw();
      if (option.starts_with("--replay") || option.starts_with("--drain"))
        return "this is a recording of " + option + ": verify one of the command as it is";
      if (i + 1 == words.size()) break;
      const std::string& value = words[++i].raw();
      if (value.find("***") != std::string::npos)
        return "the recording does not hold a value of " + option + " (secrets are masked)";
      if (option != "--steps" && option != "--for")
        plan_.base.insert(plan_.base.end(), {option, value});
    }
    return "";
  }

  // The view is tried before any earlier trials go. One fix more has a place of its own beside
  // theirs.
  Status makePlace() {
    std::error_code error;
    const fs::path all = fs::absolute(recording_, error) / kTrialsDirectory;
    const bool more = !fix_.empty() && fs::exists(all, error);
    const fs::path place = more ? all / fix_ : all;
    if (!more && fs::exists(place, error) && !force_)
      return Error{Error::Kind::kUsage,
                   "the recording has trials; --force replaces them, --fix adds to them"};
    if (more) takeEarlier();
    const std::size_t both = earlier_.trials.size() + result_.trials.size();
    if (withEarlier(result_).trials.size() < both && !force_)
      return Error{Error::Kind::kUsage, "that fix was tried; --force replaces what it gave"};
    const bool made = fs::create_directory(place, error);
    if (!made && error)
      return Error{Error::Kind::kIo,
                   "cannot make " + inQuotes(place.string()) + ": " + error.message()};
    plan_.place = fs::canonical(place, error).string();
    if (const Status had = makeView(); !had.ok()) {
      if (made) fs::remove(place, error);
      return had;
    }
    std::vector<fs::path> old;  // of the recording, made by us
    for (const auto& entry : fs::directory_iterator(place, error)) old.push_back(entry.path());
    for (const fs::path& path : old) fs::remove_all(path, error);
    return Done{};
  }

  Status makeView() {
    view_ = {plan_.directory, plan_.place};
    if (inPlace_) return Done{};
    const Status had = tryScratchView(view_);
    if (had.ok()) plan_.view = &view_;
    if (had.ok()) return had;
    return Error{Error::Kind::kUnsupported,
                 "a copy-on-write view of your files cannot be had here (" + had.error().message +
                     "): a trial would write to them. --in-place runs it all the same"};
  }

  void takeEarlier() {
    const auto text = readFile(recording_ + "/" + kTrialsFile);
    if (!text.ok()) return;
    if (auto trials = parseTrials(text.value()); trials.ok()) earlier_ = std::move(trials.value());
  }

  // The earlier trials of other changes, and these.
  [[nodiscard]] Trials withEarlier(Trials trials) const {
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
    return trials;
  }

  void planWindow(const Analysis& analysis) {
    const double step = analysis.steps.ratePerSecond ? 1 / *analysis.steps.ratePerSecond : 0;
    if (steps_ > 0) {
      plan_.window = {"--steps", std::to_string(steps_)};
      plan_.drainSeconds = static_cast<unsigned>(std::clamp(steps_ * step, 2.0, kWindowSeconds));
      return;
    }
    const double usual = std::clamp(kWindowSteps * step, kWindowSeconds, kLongestWindow);
    result_.windowSeconds = seconds_ > 0 ? seconds_ : std::ceil(usual);
    plan_.window = {"--for", fmt::format("{:.0f}", result_.windowSeconds)};
    plan_.drainSeconds = static_cast<unsigned>(result_.windowSeconds);
  }

  void note() {
    result_.inPlace = inPlace_;
    result_.notes.push_back(
        inPlace_ ? "Trials ran on your own files (--in-place)."
                 : "Trials ran on a copy-on-write view of your files, in memory: nothing that they "
                   "wrote is left.");
    result_.notes.push_back("Experiment trackers were set offline by their own variables (" +
                            offlineTrackers().front() +
                            " and others); other network traffic was as ever.");
  }

  int tryAll(const Analysis& analysis) {
    planWindow(analysis);
    if (const auto loader = loaderOptions(analysis)) {
      plan_.ceilings = true;
      plan_.loader = *loader;
    }
    note();
    plan_.runs = runs_;
    plan_.maximum = maximum_ > 0 ? maximum_ : runs_ + (runs_ + 1) / 2;
    for (std::size_t i = 0; i < result_.trials.size(); ++i)
      std::fprintf(stderr, "stallprof: fix%zu: %s (%s, predicted %s)\n", i + 1,
                   changeText(result_.trials[i]).c_str(), result_.trials[i].finding.c_str(),
                   gainText(result_.trials[i].predicted).c_str());
    const std::string file = recording_ + "/" + kTrialsFile;
    Status kept = Done{};
    const Status ran = runTrials(plan_, result_, [&](const Trials& trials) {
      if (const Status written = writeOutput(file, trialsJson(withEarlier(trials))); !written.ok())
        kept = written;
    });
    if (!ran.ok()) return fail(ran.error().message, kNotTried);
    if (!kept.ok()) return fail(kept.error().message, 1);
    print();
    return std::any_of(result_.trials.begin(), result_.trials.end(),
                       [](const Trial& t) { return t.verdict == TrialVerdict::kUndecided; })
               ? 4
               : 0;
  }

  [[nodiscard]] std::string ceilingsText() const {
    const auto line = [](const char* what, const Maybe<double>& step) {
      return step ? fmt::format("{}  {:.3g} steps a second\n", what, 1 / *step) : std::string();
    };
    const std::string text = line("as it is                ", medianOf(result_.trials[0].base)) +
                             line("data always ready       ", result_.replayStep) +
                             line("the loader alone        ", result_.drainStep);
    return text.empty() ? text : text + "\n";
  }

  void print() const {
    std::string text;
    for (const Trial& trial : result_.trials) {
      text += fmt::format("{}\n  {}\n", trial.finding, changeText(trial));
      text += "  " + predictedText(trial.predicted) + "\n";
      text += "  measured  " + outcomeText(trial) + "\n\n";
    }
    text += ceilingsText();
    for (const std::string& line : result_.notes) text += line + "\n";
    text += "The report shows both: stallprof report " + quoteShell(recording_) + "\n";
    std::fwrite(text.data(), 1, text.size(), stdout);
  }

  std::string recording_, fix_;
  std::vector<std::string> command_;
  unsigned trials_ = 2, steps_ = 0, seconds_ = 0, runs_ = 4, maximum_ = 0;
  bool inPlace_ = false, force_ = false;
  VerifyPlan plan_;
  ScratchView view_;
  Trials result_, earlier_;
};

}  // namespace

std::unique_ptr<Command> makeVerify() { return std::make_unique<VerifyCommand>(); }

}  // namespace stallprof
