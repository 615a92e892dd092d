// SPDX-License-Identifier: MIT
#include "advise/explain.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "base/text.h"
#include "stallprof/arguments.h"
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
  std::size_t least = std::min<std::size_t>(4, word.size() / 3 + 1);
  for (const std::string_view id : explainedIds()) {
    const std::size_t slips =
        std::min(distance(word, id), distance(word, id.substr(id.find('.') + 1)));
    if (slips < least) best = id, least = slips;
  }
  return best;
}

void listIds(FILE* out) {
  for (const std::string_view id : explainedIds())
    std::fprintf(out, "  %.*s\n", static_cast<int>(id.size()), id.data());
}

}  // namespace

int verbExplain(const Words& words) {
  std::string id, rule, file;
  std::vector<std::string> all = joinedWords(words);
  // `--rules` alone lists; CLI11 2.1 has no option whose value may be left out at the end.
  const bool list = !all.empty() && all.back() == "--rules";
  if (list) all.pop_back();
  const auto status = parseArguments(
      "explain", "What a finding means, how it is found, what helps, and when it is wrong.",
      {{"id", "the finding, as in \"transform.too_few_workers\"; none lists them all", &id},
       {"--rule", "a phase rule instead, as in \"torch.collate\"", &rule},
       {"--rules", "list the phase rules; with a FILE, of yours first", &file}},
      std::move(all));
  if (status) return *status;
  if (list || !file.empty() || !rule.empty()) return explainRules(file, rule);
  if (id.empty()) {
    listIds(stdout);
    return 0;
  }
  if (const auto page = explain(id)) {
    std::fwrite(page->data(), 1, page->size(), stdout);
    if (!page->ends_with('\n')) std::fputc('\n', stdout);
    return 0;
  }
  const std::string_view near = id.size() > 64 ? std::string_view() : nearest(id);
  std::fprintf(stderr, "stallprof: no finding is called '%s'%s%.*s%s\n",
               escapeTerminal(id, 64).c_str(), near.empty() ? "; there are:" : "; did you mean '",
               static_cast<int>(near.size()), near.data(), near.empty() ? "" : "'? There are:");
  listIds(stderr);
  return 2;
}

}  // namespace stallprof
