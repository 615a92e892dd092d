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

// By a rule's patterns of places (modules, libraries) and of names in them; where it has none, any.
template <class FitsPlace, class FitsName>
int fitBy(const std::vector<std::string>& places, FitsPlace fitsPlace,
          const std::vector<std::string>& names, FitsName fitsName) {
  if (places.empty() && names.empty()) return -1;
  int fit = places.empty() ? 0 : -1;
  for (const std::string& pattern : places)
    if (fitsPlace(pattern)) fit = longest(fit, pattern);
  if (fit < 0 || names.empty()) return fit;
  return std::any_of(names.begin(), names.end(), fitsName) ? fit + kByName : -1;
}

int fitPython(const PhaseRule& rule, const FrameName& frame, const ModulePath& module) {
  if (module.users && !rule.users) return -1;
  return fitBy(
      rule.modules, [&](auto& pattern) { return fitsModule(module, pattern); }, rule.functions,
      [&](auto& pattern) { return fitsFunction(frame.function, pattern); });
}

int fitNative(const PhaseRule& rule, const FrameName& frame) {
  return fitBy(
      rule.libraries, [&](auto& pattern) { return fitsPattern(baseName(frame.file), pattern); },
      rule.symbols, [&](auto& pattern) { return fitsPattern(frame.function, pattern); });
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
