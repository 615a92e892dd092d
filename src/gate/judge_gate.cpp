// SPDX-License-Identifier: MIT
#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "base/units.h"
#include "gate/verdict.h"
#include "gate/wording.h"

namespace stallprof {
namespace {

// Why `run` cannot be judged: the command under it failed. "" where it did not.
std::string failureOf(const GateRun& run) {
  if (!failed(run)) return "";
  if (run.exitSignal)
    return fmt::format("{} died of signal {}", inQuotes(run.path), *run.exitSignal);
  return fmt::format("{} exited with status {}", inQuotes(run.path), *run.exitCode);
}

std::string firstFailure(std::span<const GateRun> base, std::span<const GateRun> head) {
  for (const auto side : {base, head})
    for (const GateRun& run : side)
      if (std::string why = failureOf(run); !why.empty()) return why;
  return "";
}

// The first run whose recorder died before its command ended, in words; "" where there is none.
std::string firstCutOff(std::span<const GateRun> base, std::span<const GateRun> head) {
  for (const auto side : {base, head})
    for (const GateRun& run : side)
      if (run.cutOff)
        return fmt::format("{} has no end: its recorder died before the command ended",
                           inQuotes(run.path));
  return "";
}

// Of two runs of one side that are the same, in words; "" where there are none.
std::string firstTwice(std::span<const GateRun> side) {
  for (std::size_t i = 0; i < side.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (!side[i].identity.empty() && side[i].identity == side[j].identity)
        return fmt::format("{} and {} are one run: each counts once", inQuotes(side[j].path),
                           inQuotes(side[i].path));
  return "";
}

// A run that stands on both sides, in words; "" where there is none.
std::string firstOnBoth(std::span<const GateRun> base, std::span<const GateRun> head) {
  for (const GateRun& one : base)
    for (const GateRun& other : head)
      if (!one.identity.empty() && one.identity == other.identity)
        return fmt::format("{} is {}: a run compared with itself shows nothing",
                           inQuotes(other.path),
                           one.path == other.path ? "on both sides of the --"
                                                  : inQuotes(one.path) + " of the other side");
  return "";
}

// The first difference between what the runs ran on, in words; "" where there is none.
std::string mismatch(const Policy& policy, std::span<const GateRun> base,
                     std::span<const GateRun> head) {
  const GateRun& first = base.empty() ? head[0] : base[0];
  for (const auto side : {base, head})
    for (const GateRun& run : side)
      for (const std::string& part : policy.match)
        if (partOf(run.host, part) != partOf(first.host, part))
          return fmt::format("{} is {} in {}, {} in {}", part, inQuotes(partOf(first.host, part)),
                             inQuotes(first.path), inQuotes(partOf(run.host, part)),
                             inQuotes(run.path));
  return "";
}

bool disjoint(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  return std::none_of(a.begin(), a.end(), [&](std::int64_t size) {
    return std::find(b.begin(), b.end(), size) != b.end();
  });
}

// Of a shift, which shares alpha.
bool canFail(const Check& c) {
  return c.kind == Check::Kind::kShift && c.level == Level::kError && !c.waiver;
}

// Whether a check that can fail is of how long a step takes.
bool stepsDecide(const Policy& policy) {
  return std::any_of(policy.checks.begin(), policy.checks.end(), [](const Check& c) {
    return canFail(c) && (c.path.starts_with("steps.time_ns.") || c.path == "steps.rate_per_s");
  });
}

std::string sizesText(const std::vector<std::int64_t>& sizes) {
  std::string out;
  for (const std::int64_t size : sizes) out += (out.empty() ? "" : ", ") + std::to_string(size);
  return out;
}

// Why a step of one run is not the same work as one of another; "" where nothing says so.
std::string otherWork(const Policy& policy, std::span<const GateRun> base,
                      std::span<const GateRun> head) {
  const GateRun& first = base.empty() ? head[0] : base[0];
  for (const auto side : {base, head})
    for (const GateRun& run : side) {
      if (!run.foreignFile.empty())
        return fmt::format("{} ran {}, which is the head's: install each side for itself",
                           inQuotes(run.path), inQuotes(run.foreignFile));
      if (!stepsDecide(policy)) continue;
      if (run.stepSource != first.stepSource && !run.stepSource.empty() &&
          !first.stepSource.empty())
        return fmt::format("steps are from {} in {}, from {} in {}", inQuotes(first.stepSource),
                           inQuotes(first.path), inQuotes(run.stepSource), inQuotes(run.path));
      if (!run.batchSizes.empty() && !first.batchSizes.empty() &&
          disjoint(run.batchSizes, first.batchSizes))
        return fmt::format(
            "the batch size is {} in {}, {} in {}: a step is not the same work, and "
            "steps.samples_per_s is what a policy can check",
            sizesText(first.batchSizes), inQuotes(first.path), sizesText(run.batchSizes),
            inQuotes(run.path));
    }
  return "";
}

std::string tooFewSteps(const Policy& policy, std::span<const GateRun> base,
                        std::span<const GateRun> head) {
  for (const auto side : {base, head})
    for (const GateRun& run : side) {
      const auto steps = run.numbers.find("steps.window_count");
      const double count = steps == run.numbers.end() ? 0 : steps->second;
      if (count < static_cast<double>(policy.minSteps))
        return fmt::format("{} has {} steps in its window, the policy asks for {}",
                           inQuotes(run.path), numberText(count), policy.minSteps);
    }
  return "";
}

bool matches(const FindingRule& rule, const std::string& id) {
  if (!rule.id.ends_with('*')) return rule.id == id;
  return id.starts_with(std::string_view(rule.id).substr(0, rule.id.size() - 1));
}

bool names(const GateRun& run, const std::string& id) {
  return std::any_of(run.suspects.begin(), run.suspects.end(),
                     [&](const Suspect& s) { return s.id == id; });
}

// A finding is new when every run of the head has it and none of the base: one near its threshold
// comes and goes.
void findNew(GateResult& result, const Policy& policy, std::span<const GateRun> base,
             std::span<const GateRun> head) {
  if (base.empty()) return;
  for (const Suspect& suspect : head[0].suspects) {
    const auto has = [&](const GateRun& run) { return names(run, suspect.id); };
    if (!std::all_of(head.begin(), head.end(), has) || std::any_of(base.begin(), base.end(), has))
      continue;
    NewFinding found{suspect, Level::kInfo, 0};
    for (const FindingRule& rule : policy.findings)
      if (matches(rule, suspect.id)) {
        found.level = rule.level;
        found.line = rule.line;
      }
    // Of too few runs everything is advisory.
    if (std::min(base.size(), head.size()) < policy.minRuns)
      found.level = std::max(found.level, Level::kWarn);
    result.newFindings.push_back(std::move(found));
  }
}

// The cause to inspect first: a new one before those that were there before.
Maybe<Suspect> firstSuspect(const GateResult& result, std::span<const GateRun> head) {
  if (!result.newFindings.empty()) return result.newFindings[0].suspect;
  for (const GateRun& run : head)
    if (!run.suspects.empty()) return run.suspects[0];
  return {};
}

// A side's numbers at `path`; the Error names the run that lacks it.
Result<std::vector<double>> numbersOf(std::span<const GateRun> runs, const std::string& path) {
  std::vector<double> values;
  for (const GateRun& run : runs) {
    const auto found = run.numbers.find(path);
    if (found == run.numbers.end())
      return Error{Error::Kind::kUsage, fmt::format("{} has no {}: it was not measured there",
                                                    inQuotes(run.path), path)};
    values.push_back(found->second);
  }
  return values;
}

Status judgeChecks(GateResult& result, const Policy& policy, std::span<const GateRun> base,
                   std::span<const GateRun> head) {
  if (base.empty() && !policy.findings.empty()) {
    constexpr const char* kNoBase = "no base to compare findings with";
    if (!policy.missingBaselineWarns)
      return Error{Error::Kind::kUsage, std::string(kNoBase) +
                                            ": name runs before the --, or a "
                                            "baseline in the policy"};
    result.notes.push_back("New findings were not judged: " + std::string(kNoBase) + ".");
  }
  for (const Check& check : policy.checks) {
    const bool needsBase = check.kind != Check::Kind::kBudget;
    if (needsBase && base.empty() && !policy.missingBaselineWarns)
      return Error{Error::Kind::kUsage, "no base to compare " + check.path +
                                            " with: name runs before the --, or a "
                                            "baseline in the policy"};
    auto b = numbersOf(base, check.path), h = numbersOf(head, check.path);
    for (auto* side : {&b, &h}) {
      if (side->ok() || (side == &b && !needsBase)) continue;
      if (check.level != Level::kInfo) return side->error();
      *side = std::vector<double>();
    }
    if (!b.ok()) b = std::vector<double>();
    result.checks.push_back(
        judgeCheck(check, policy, alphaOf(check, policy), b.value(), h.value()));
    if (needsBase && base.empty()) {
      result.checks.back().verdict = CheckVerdict::kInconclusive;
      result.checks.back().advisory = true;
      result.checks.back().why = "no base";
    }
  }
  return Done{};
}

void conclude(GateResult& result, const Policy& policy) {
  std::vector<std::string> failures, unsure, gains;
  bool compared = false;  // what no base was there for is a matter of missingBaselineWarns
  for (const CheckResult& c : result.checks) {
    if (c.level() != Level::kError) continue;
    if (failed(c.verdict)) failures.push_back(checkText(c));
    if (c.verdict == CheckVerdict::kInconclusive) {
      unsure.push_back(checkText(c));
      compared |= c.base.has_value();
    }
    if (c.verdict == CheckVerdict::kImproved) gains.push_back(checkText(c));
  }
  for (const NewFinding& f : result.newFindings)
    if (f.level == Level::kError) failures.push_back("new: " + suspectText(f.suspect));
  result.unsure = policy.onInconclusive == OnInconclusive::kPass ? Level::kInfo : Level::kWarn;
  if (!failures.empty()) {
    result.outcome = Outcome::kRegressed;
    result.headline = joined(failures, "; ");
  } else if (!unsure.empty()) {
    if (policy.onInconclusive == OnInconclusive::kFail && compared) {
      result.outcome = Outcome::kInconclusive;
      result.unsure = Level::kError;
    }
    result.headline = joined(unsure, "; ");
  } else {
    result.headline = gains.empty() ? "no regression" : joined(gains, "; ");
  }
}

// The whole answer where the runs cannot be judged.
GateResult refused(GateResult result, Outcome outcome, std::string why) {
  result.outcome = outcome;
  result.headline = std::move(why);
  return result;
}

constexpr const char* kOthersCpu = "resources.external_cpu_ratio";

// The run beside which other programs used the largest part of the CPU; null: little in all.
const GateRun* busiestHost(std::span<const GateRun> base, std::span<const GateRun> head) {
  double largest = 0.10;
  const GateRun* found = nullptr;
  for (const auto side : {base, head})
    for (const GateRun& run : side)
      if (const auto at = run.numbers.find(kOthersCpu);
          at != run.numbers.end() && at->second > largest) {
        largest = at->second;
        found = &run;
      }
  return found;
}

}  // namespace

std::vector<std::string> notesOn(std::span<const GateRun> base, std::span<const GateRun> head) {
  std::vector<std::string> notes;
  const GateRun* first = nullptr;
  for (const auto side : {base, head})
    for (const GateRun& run : side) {
      if (run.batchSizes.empty()) continue;
      if (!first) first = &run;
      if (!notes.empty() || run.batchSizes == first->batchSizes) continue;
      notes.push_back("The batch size is " + sizesText(first->batchSizes) + " in " +
                      inQuotes(first->path) + ", " + sizesText(run.batchSizes) + " in " +
                      inQuotes(run.path) +
                      ". A step is not the same work: compare samples a second.");
    }
  if (const GateRun* run = busiestHost(base, head))
    notes.push_back("Other programs used " + percentText(run->numbers.at(kOthersCpu)) +
                    " of the usable cores in " + inQuotes(run->path) +
                    ": they may be why it took longer.");
  for (const auto side : {base, head})
    for (const GateRun& run : side) {
      if (const std::string failed = failureOf(run); !failed.empty())
        notes.push_back(failed + ".");
      else if (!run.exitCode && !run.exitSignal)
        notes.push_back(inQuotes(run.path) + " had not ended when its report was made.");
    }
  return notes;
}

double alphaOf(const Check& check, const Policy& policy) {
  if (!policy.bonferroni || !canFail(check)) return policy.alpha;
  const auto sharers = std::count_if(policy.checks.begin(), policy.checks.end(), canFail);
  return policy.alpha / static_cast<double>(std::max<std::ptrdiff_t>(1, sharers));
}

Result<GateResult> judgeGate(const Policy& policy, std::span<const GateRun> base,
                             std::span<const GateRun> head) {
  GateResult result;
  result.baseRuns = base.size();
  result.runsAsked = policy.minRuns;
  result.headRuns = head.size();
  if (!head.empty()) result.host = head[0].host;
  // Before anything else: a base that fails may have kept the head from being run at all.
  if (std::string why = firstFailure(base, head); !why.empty())
    return refused(std::move(result), Outcome::kWorkloadFailed, std::move(why));
  if (head.empty()) return Error{Error::Kind::kUsage, "no runs to judge: name some after the --"};
  for (const auto side : {base, head})
    if (std::string why = firstTwice(side); !why.empty())
      return Error{Error::Kind::kUsage, std::move(why)};
  if (std::string why = firstOnBoth(base, head); !why.empty())
    return Error{Error::Kind::kUsage, std::move(why)};
  if (std::string why = firstCutOff(base, head); !why.empty())
    return refused(std::move(result), Outcome::kNotComparable, std::move(why));
  if (std::string why = mismatch(policy, base, head); !why.empty()) {
    if (!policy.mismatchWarns)
      return refused(std::move(result), Outcome::kNotComparable, std::move(why));
    result.notes.push_back("The runs are not of one host: " + why + ".");
  }
  if (std::string why = otherWork(policy, base, head); !why.empty()) {
    if (!policy.mismatchWarns)
      return refused(std::move(result), Outcome::kNotComparable, std::move(why));
    result.notes.push_back("The runs do not do the same work: " + why + ".");
  }
  if (std::string why = tooFewSteps(policy, base, head); !why.empty())
    return refused(std::move(result), Outcome::kNotComparable, std::move(why));
  std::vector<std::string> notes = notesOn(base, head);
  std::move(notes.begin(), notes.end(), std::back_inserter(result.notes));
  findNew(result, policy, base, head);
  result.suspect = firstSuspect(result, head);
  if (const Status judged = judgeChecks(result, policy, base, head); !judged.ok())
    return judged.error();
  conclude(result, policy);
  return result;
}

}  // namespace stallprof
