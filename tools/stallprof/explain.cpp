// SPDX-License-Identifier: MIT
#include "advise/explain.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "base/text.h"
#include "stallprof/command_line.h"
#include "stallprof/rules.h"

namespace stallprof {
namespace {

// Levenshtein's distance, over short words only.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t corner = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = corner + (a[i] == b[j] ? 0 : 1);
      corner = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

// The id meant by a slip of the keyboard, or by its part after the dot; empty where none is near.
std::string_view nearest(std::string_view word) {
  std::string_view best;
  // More slips than a third of the word, or than three, make another word.
  std::size_t minimum = std::min<std::size_t>(4, word.size() / 3 + 1);
  for (const std::string_view id : explainedIds()) {
    const std::size_t slips =
        std::min(distance(word, id), distance(word, id.substr(id.find('.') + 1)));
    if (slips >= minimum) continue;
    best = id;
    minimum = slips;
  }
  return best;
}

void listIds(FILE* out) {
  for (const std::string_view id : explainedIds())
    std::fprintf(out, "  %.*s\n", static_cast<int>(id.size()), id.data());
}

class ExplainCommand final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.description("What a finding means, how it is found, what helps, and when it is wrong.");
    addText(app, "id", id_,
            "the finding, as in \"transform.too_few_workers\"; none lists them all");
    addText(app, "--rule", rule_, "a phase rule instead, as in \"torch.collate\"");
    addText(app, "--rules", file_, "list the phase rules; with a FILE, of yours first");
  }

  // `--rules` alone lists; CLI11 2.1 has no option whose value may be left out at the end.
  void parse(CLI::App& app, const std::vector<std::string>& words) override {
    std::vector<std::string> all = words;
    list_ = !all.empty() && all.back() == "--rules";
    if (list_) all.pop_back();
    parseWords(app, std::move(all));
  }

  int run() override {
    if (list_ || !file_.empty() || !rule_.empty()) return explainRules(file_, rule_);
    if (id_.empty()) {
      listIds(stdout);
      return 0;
    }
    if (const auto page = explain(id_)) {
      std::fwrite(page->data(), 1, page->size(), stdout);
      if (!page->ends_with('\n')) std::fputc('\n', stdout);
      return 0;
    }
    const std::string_view near = id_.size() > 64 ? std::string_view() : nearest(id_);
    std::fprintf(stderr, "stallprof: no finding is called '%s'%s%.*s%s\n",
                 escapeTerminal(id_, 64).c_str(),
                 near.empty() ? "; there are:" : "; did you mean '", static_cast<int>(near.size()),
                 near.data(), near.empty() ? "" : "'? There are:");
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
