// SPDX-License-Identifier: MIT
#include "advise/explain.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "base/text.h"
#include "classify/own_rules.h"
#include "gate/metrics.h"
#include "stallprof/command_line.h"
#include "stallprof/reading.h"

namespace stallprof {
namespace {

std::string phaseName(const PhaseRule& rule) {
  if (rule.work) return "work: transform in a producer, compute in the trainer";
  std::string name = rule.phase ? std::string(nameOf(*rule.phase)) : "of called functions";
  if (rule.overhead != OverheadKind::kNone) name += " (" + std::string(nameOf(rule.overhead)) + ")";
  return name;
}

void printLine(const char* name, const std::string& text) {
  if (!text.empty()) std::printf("%-10s %s\n", name, escapeTerminal(text, 600).c_str());
}

void printPatterns(const char* name, const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns) {
    printLine(name, pattern);
    name = "";
  }
}

std::string sideName(Side side) { return side == Side::kProducer ? "producer" : "trainer"; }

void printRule(const PhaseRule& rule) {
  std::printf("%s\n\n", rule.id.c_str());
  printLine("phase", phaseName(rule));
  printLine("library", rule.family);
  printLine("note", rule.note);
  if (rule.scope) printLine("scope", "matches in a " + sideName(*rule.scope) + " only");
  if (rule.context) printLine("context", "called functions belong to a " + sideName(*rule.context));
  if (rule.covers == PhaseRule::Covers::kAll)
    printLine("covers", "all called functions, also those with other rules");
  if (rule.covers == PhaseRule::Covers::kLibrary)
    printLine("covers", "called functions, down to the next frame of your own code");
  if (rule.waits) printLine("waits", "also matches time blocked on files and sockets");
  if (rule.update) printLine("update", "updates a model: a loop around it is a loop of steps");
  if (rule.gradient) printLine("gradient", "takes a gradient: what is compiled around it trains");
  if (rule.alone) printLine("alone", "matches only where no other library's model is updated");
  if (rule.arrays) printLine("arrays", "works on arrays that no model's gradients go through");
  if (rule.fetches) printLine("fetches", "gets a loader's next batch, which the hook times");
  if (rule.handover) printLine("handover", "takes what another thread or process hands over");
  printPatterns("modules", rule.modules);
  printPatterns("functions", rule.functions);
  printPatterns("libraries", rule.libraries);
  printPatterns("symbols", rule.symbols);
  printLine("source", rule.source);
  printLine("in", rule.file + ":" + std::to_string(rule.line));
}

int printOne(const RuleTable& table, const std::string& id) {
  if (const PhaseRule* rule = table.find(id)) {
    printRule(*rule);
    return 0;
  }
  for (const OwnRule& own : ownRules())
    if (own.id == id) {
      std::printf("%s\n\n", id.c_str());
      printLine("phase", std::string(own.phase));
      printLine("note", std::string(own.note));
      printLine("source", "built into stallprof: based on the state of the thread, not on names");
      return 0;
    }
  std::fprintf(stderr,
               "stallprof: no phase rule is named '%s'; stallprof explain --rules lists them\n",
               escapeTerminal(id, 64).c_str());
  return 2;
}

void listLine(std::string_view id, const std::string& phase, const std::string& library) {
  std::printf("  %-24s %-22s %s\n", std::string(id).c_str(), phase.c_str(),
              escapeTerminal(library, 100).c_str());
}

void listAll(const RuleTable& table) {
  for (const PhaseRule& rule : table.rules())
    listLine(rule.id, rule.work ? "work" : phaseName(rule), rule.family);
  for (const OwnRule& own : ownRules()) listLine(own.id, std::string(own.phase), "stallprof's own");
}

// Prints the phase rule `id`, or lists all where it is "": those of `file` ("" for none) first. The
// exit status.
int explainRules(const std::string& file, const std::string& id) {
  const Result<RuleTable> table = readRules(file);
  if (!table.ok()) {
    std::fprintf(stderr, "stallprof: %s\n", table.error().message.c_str());
    return 2;
  }
  if (!id.empty()) return printOne(table.value(), id);
  listAll(table.value());
  return 0;
}

// "; did you mean 'x'?" where the word, or a word without a dot what follows that, is near.
std::string meant(const std::string& word) {
  const auto ids = explainedIds();
  if (word.find('.') != std::string::npos) return didYouMean(word, ids);
  std::vector<std::string_view> parts;
  for (const std::string_view id : ids) parts.push_back(id.substr(id.find('.') + 1));
  const std::string_view part = nearestOf(word, parts);
  const auto at = std::find(parts.begin(), parts.end(), part) - parts.begin();
  return part.empty() ? ""
                      : "; did you mean '" + std::string(ids[static_cast<std::size_t>(at)]) + "'?";
}

void listIds(FILE* out) {
  for (const std::string_view id : explainedIds())
    std::fprintf(out, "  %.*s\n", static_cast<int>(id.size()), id.data());
}

class ExplainCommand final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.description("Explains a finding: its meaning, rule, fixes, and when it is wrong.");
    addText(
        app, "id", id_,
        "the finding, for example \"transform.too_few_workers\", or \"steps\" (default: list all)");
    addText(app, "--rule", rule_, "explain a phase rule instead, for example \"torch.collate\"");
    addText(app, "--rules", file_, "list the phase rules; with FILE, your rules first");
  }

  // `--rules` alone lists; CLI11 2.1 has no option whose value may be left out at the end.
  void parse(CLI::App& app, const std::vector<std::string>& words) override {
    std::vector<std::string> all = words;
    list_ = !all.empty() && all.back() == "--rules";
    if (list_) all.pop_back();
    parseWords(app, std::move(all));
  }

  int run() override {
    if (!id_.empty() && (list_ || !rule_.empty()))
      return fail("explain takes a finding, or --rule or --rules, not both", 2);
    // A file of rules alone lists them, not beside a finding: a configuration may name one.
    if (list_ || !rule_.empty() || (!file_.empty() && id_.empty()))
      return explainRules(file_, rule_);
    if (id_.empty()) {
      listIds(stdout);
      return 0;
    }
    if (const auto page = explain(id_)) {
      std::fwrite(page->data(), 1, page->size(), stdout);
      if (!page->ends_with('\n')) std::fputc('\n', stdout);
      return 0;
    }
    const std::string near = meant(id_);
    std::fprintf(stderr, "stallprof: no finding is named '%s'%s\n", escapeTerminal(id_, 64).c_str(),
                 near.empty() ? "; the findings are:" : (near + " The findings are:").c_str());
    listIds(stderr);
    return 2;
  }

 private:
  std::string id_, rule_, file_;
  bool list_ = false;
};

}  // namespace

std::unique_ptr<Command> makeExplain() { return std::make_unique<ExplainCommand>(); }

}  // namespace stallprof
