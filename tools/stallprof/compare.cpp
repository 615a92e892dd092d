// SPDX-License-Identifier: MIT

#include "gate/verdict.h"
#include "present/words/compare_text.h"
#include "stallprof/command_line.h"
#include "stallprof/gate_baseline.h"
#include "stallprof/output.h"

namespace stallprof {
namespace {

std::vector<RunNumbers> numbersOf(const std::vector<GateRun>& runs) {
  std::vector<RunNumbers> numbers;
  for (const GateRun& run : runs) numbers.push_back(run.numbers);
  return numbers;
}

class CompareCommand final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.description(
        "Compares two sets of runs: BASE... -- HEAD..., or only BASE HEAD. A difference does not "
        "change the exit status.");
    app.add_option(
        "base", base_,
        "recordings, JSON reports or a stored baseline; base runs before a bare --, head "
        "runs after it");
  }

  void parse(CLI::App& app, const std::vector<std::string>& words) override {
    const SplitWords split = splitAtDashes(words);
    parseWords(app, split.before);
    head_ = split.after;
    if (split.dashes || base_.size() != 2) return;
    head_ = {base_[1]};
    base_.pop_back();
  }

  int run() override {
    if (base_.empty() || head_.empty())
      return fail(
          "compare takes BASE... -- HEAD..., at least one of each; see stallprof compare "
          "--help",
          2);
    const Result<Sides> read = readSides({}, base_, head_);
    if (!read.ok()) return fail(read.error().message, 1);
    const Sides& sides = read.value();
    const Comparison comparison =
        compareRuns(numbersOf(sides.base), numbersOf(sides.head), comparedPaths());
    std::vector<std::string> notes = sides.notes;
    for (std::string& note : notesOn(sides.base, sides.head)) notes.push_back(std::move(note));
    const Status written = writeOutput("", compareText(comparison, notes, stdoutColumns()));
    return written.ok() ? 0 : fail(written.error().message, 1);
  }

 private:
  std::vector<std::string> base_, head_;
};

}  // namespace

std::unique_ptr<Command> makeCompare() { return std::make_unique<CompareCommand>(); }

}  // namespace stallprof
