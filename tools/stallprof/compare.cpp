// SPDX-License-Identifier: MIT

#include "present/words/compare_text.h"
#include "stallprof/command_line.h"
#include "stallprof/output.h"
#include "stallprof/reading.h"

namespace stallprof {
namespace {

// The numbers of every run; the first that cannot be read is the Error.
Result<std::vector<RunNumbers>> readAll(const std::vector<std::string>& paths) {
  std::vector<RunNumbers> runs;
  for (const std::string& path : paths) {
    Result<RunNumbers> numbers = readNumbers(path);
    if (!numbers.ok()) return numbers.error();
    runs.push_back(std::move(numbers).value());
  }
  return runs;
}

class CompareCommand final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.description(
        "Compares two sets of runs: BASE... -- HEAD..., or only BASE HEAD. A difference does not "
        "change the exit status.");
    app.add_option("base", base_,
                   "recordings or JSON reports; base runs before a bare --, head runs after it");
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
    const auto baseRuns = readAll(base_), headRuns = readAll(head_);
    for (const auto* side : {&baseRuns, &headRuns})
      if (!side->ok()) return fail(side->error().message, 1);
    const Comparison comparison = compareRuns(baseRuns.value(), headRuns.value(), comparedPaths());
    const Status written = writeOutput("", compareText(comparison, stdoutColumns()));
    return written.ok() ? 0 : fail(written.error().message, 1);
  }

 private:
  std::vector<std::string> base_, head_;
};

}  // namespace

std::unique_ptr<Command> makeCompare() { return std::make_unique<CompareCommand>(); }

}  // namespace stallprof
