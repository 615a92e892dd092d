// SPDX-License-Identifier: MIT

#include "advise/cost.h"
#include "base/text.h"
#include "present/formats.h"
#include "present/html/picture/picture.h"
#include "stallprof/command_line.h"
#include "stallprof/output.h"
#include "stallprof/reading.h"

namespace stallprof {
namespace {

class ReportCommand final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.description(
        "Prints the report of a recording. For a running recording, it covers the time so far.");
    addText(app, "recording", recording_, "the recording's directory, NAME.stallprof")->required();
    addChoice(app, "--format", format_, {"text", "json", "md", "html"},
              "text (default), json, md, html");
    addText(app, "-o,--output", file_, "write to this file instead of stdout");
    app.add_flag("--force", force_, kForceHelp);
    addNumber(app, "--price", price_,
              "price of an hour on this machine; the report then shows costs");
    addWhole(app, "--epochs", {1, 1000000000, "a whole number"},
             "epochs of a whole training; the report then shows its time and cost",
             [this](unsigned epochs) { epochs_ = epochs; });
    addText(app, "--rules", rules_, "file of your phase rules, in TOML; see stallprof-rules(5)");
    addRepeated(app, "--map", map_, kMapHelp);
    addChoice(app, "--color", colour_, {"auto", "always", "never"},
              "colour: auto (default), always, never");
  }

  int run() override {
    if (const Status free = wouldReplace(file_, kOrForce); !force_ && !free.ok())
      return fail(free.error().message, 1);
    PresentOptions options = presentOptions();
    // The format is settled before a long recording is read.
    const Result<ReportFormat> form = reportFormat(format_);
    if (!form.ok()) return fail(form.error().message, 2);
    const Result<RuleTable> table = readRules(rules_);
    if (!table.ok()) return fail(table.error().message, 2);
    const auto maps = readMaps(map_);
    if (!maps.ok()) return fail(maps.error().message, 2);
    Result<Reading> read = readRecording(recording_, table.value(), maps.value());
    if (!read.ok()) return fail(read.error().message, 1);
    if (price_ || epochs_)
      read.value().analyzed.analysis.cost = costOf(read.value().analyzed.analysis, price_, epochs_);
    Picture picture;
    if (format_ == "html") {
      picture = draw(read.value().trace, read.value().analyzed, table.value());
      options.picture = &picture;
    }
    const Analysis& analysis = read.value().analyzed.analysis;
    const Status written = writeOutput(file_, form.value().write(analysis, options));
    return written.ok() ? 0 : fail(written.error().message, 1);
  }

 private:
  [[nodiscard]] PresentOptions presentOptions() const {
    PresentOptions options;
    options.recording = asOperand(recording_);
    const bool toStdout = file_.empty() || file_ == "-";
    options.colour = toStdout ? stdoutColour(colour_) : colour_ == "always";
    if (toStdout) options.width = stdoutColumns();
    return options;
  }

  std::string recording_, format_ = "text", file_, rules_, colour_ = "auto";
  std::optional<double> price_, epochs_;
  bool force_ = false;
  std::vector<std::string> map_;
};

}  // namespace

std::unique_ptr<Command> makeReport() { return std::make_unique<ReportCommand>(); }

}  // namespace stallprof
