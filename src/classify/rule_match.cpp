// SPDX-License-Identifier: MIT
#include "classify/rule_match.h"

#include <algorithm>

namespace stallprof {
namespace {

// How exactly a rule fits; -1: it does not. Names beat places, longer places beat shorter ones.
constexpr int kByName = 10'000, kByUser = 100'000;

int longest(int best, std::string_view pattern) {
  return std::max(best, static_cast<int>(std::min<std::size_t>(pattern.size(), kByName - 1)));
}

int fitPython(const PhaseRule& rule, const FrameName& frame, const ModulePath& module) {
  if (rule.modules.empty() && rule.functions.empty()) return -1;
  if (module.users && !rule.users) return -1;
  int fit = rule.modules.empty() ? 0 : -1;
  for (const std::string& pattern : rule.modules)
    if (fitsModule(module, pattern)) fit = longest(fit, pattern);
  if (fit < 0 || rule.functions.empty()) return fit;
  const bool named = std::any_of(rule.functions.begin(), rule.functions.end(), [&](auto& pattern) {
    return fitsFunction(frame.function, pattern);
  });
  return named ? fit + kByName : -1;
}

int fitNative(const PhaseRule& rule, const FrameName& frame) {
  if (rule.libraries.empty() && rule.symbols.empty()) return -1;
  int fit = rule.libraries.empty() ? 0 : -1;
  for (const std::string& pattern : rule.libraries)
    if (fitsPattern(baseName(frame.file), pattern)) fit = longest(fit, pattern);
  if (fit < 0 || rule.symbols.empty()) return fit;
  const bool named = std::any_of(rule.symbols.begin(), rule.symbols.end(), [&](auto& pattern) {
    return fitsPattern(frame.function, pattern);
  });
  return named ? fit + kByName : -1;
}

}  // namespace

const PhaseRule* claim(const RuleTable& table, const FrameName& frame, Side side) {
  const ModulePath module = frame.native ? ModulePath{} : modulePathOf(frame.file);
  const PhaseRule* best = nullptr;
  int bestFit = -1;
  for (const PhaseRule& rule : table.rules()) {
    if (rule.scope && *rule.scope != side) continue;
    int fit = frame.native ? fitNative(rule, frame) : fitPython(rule, frame, module);
    if (fit >= 0 && rule.users) fit += kByUser;
    if (fit > bestFit) {
      best = &rule;
      bestFit = fit;
    }
  }
  return best;
}

}  // namespace stallprof
