// SPDX-License-Identifier: MIT
#include "present/words/wording.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analysis/describe/describe.h"
#include "base/units.h"
#include "stallprof/version.h"

namespace stallprof {
namespace {

std::string trainersText(const Analysis& a) {
  const bool judged = a.breakdown.loop.known() || !a.verdict.withheld;
  if (a.trainers.empty()) return judged ? "steps unknown" : "no trainer found";
  const bool ranks = std::all_of(a.trainers.begin(), a.trainers.end(),
                                 [](const TrainerInfo& t) { return t.rank.has_value(); });
  std::set<int> own;  // each attempt of a restarted rank is a trainer
  for (const TrainerInfo& t : a.trainers) own.insert(t.rank.value_or(-1));
  return ranks ? countOf(static_cast<std::int64_t>(own.size()), "rank")
               : countOf(static_cast<std::int64_t>(a.trainers.size()), "trainer");
}

std::string hostText(const Analysis& a) {
  const RunInfo::Host& host = a.run.host;
  std::string text = host.cpuModel.empty() ? "unknown CPU" : host.cpuModel;
  if (const std::string cores = coresText(a); !cores.empty()) text += ", " + cores;
  std::map<std::string, int> gpus;  // eight of a kind are one entry
  for (const std::string& gpu : host.gpus) ++gpus[gpu];
  for (const auto& [name, count] : gpus)
    text += ", " + (count > 1 ? std::to_string(count) + " x " : "") + name;
  return text;
}

// "" where it did not fail; what --steps ends did not.
std::string failureText(const RunInfo& run) {
  if (endedAsAsked(run.overrides, run.exitCode, run.exitSignal)) return "";
  if (run.exitSignal)
    return "The command was ended by signal " + std::to_string(*run.exitSignal) + ".";
  if (run.exitCode.value_or(0) == 0) return "";
  return "The command failed: exit status " + std::to_string(*run.exitCode) + ".";
}

std::string why(const std::string& source) {
  if (source == "marks") return "from marks in the program";
  if (source == "nvtx") return "from NVTX ranges";
  if (source == "hook") return "from the data loader";
  if (source == "optimizer") return "from optimizer steps";
  if (source == "inferred") return "inferred from repeating behaviour";
  return "from " + source;
}

}  // namespace

std::string coresText(const Analysis& a) {
  const RunInfo::Host& host = a.run.host;
  if (host.coresOnline <= 0) return {};
  const double atStart = host.coresUsable > 0 ? host.coresUsable : host.coresOnline;
  const bool some = atStart < host.coresOnline - 0.01;
  std::string text = (some ? numberText(atStart) + " of " : "") + countOf(host.coresOnline, "core");
  const double later = a.resources.cores.value_or(atStart);
  // A limit that was set or lifted while the job ran.
  if (std::abs(later - atStart) > 0.05 * atStart)
    text += " at the start, " + numberText(later) + " in the window";
  return text;
}

std::string scopeText(const std::string& loop) {
  return loop.empty() ? "of the whole run" : "of the loop at " + loop;
}

std::string windowText(const Breakdown& b) {
  return b.scope == "run" ? scopeText(lineText(b.loop)) : "of the window";
}

std::string noVerdictReason(const NoVerdict& reason) {
  switch (reason.why) {
    case NoVerdict::Why::kNoSteps:
      return "no training step was seen";
    case NoVerdict::Why::kFewSteps:
      return "there are " + countOf(std::llround(reason.value), "step") + ", and " +
             std::to_string(std::llround(reason.limit)) + " are needed";
    case NoVerdict::Why::kFewSamples:
      if (reason.value <= 0)
        return "no stack of the training thread was recorded, and without a loader there is no "
               "other data on its steps";
      return "there are " + countOf(std::llround(reason.value), "sample") +
             " of the training thread, and " + std::to_string(std::llround(reason.limit)) +
             " are needed to classify its own code";
    case NoVerdict::Why::kUnexplained:
      return percentText(reason.value) + " of the time is unexplained";
    case NoVerdict::Why::kOthersCpu:
      return "other programs used more of the CPU than the first findings differ by";
    case NoVerdict::Why::kNoFix:
      return "data takes " + percentText(reason.value) +
             " of the time, and no change to it is predicted to gain 5 %";
    case NoVerdict::Why::kUnclear:
      break;
  }
  return "the evidence does not identify one cause";
}

std::string commandText(const RunInfo& run) {
  constexpr std::size_t kEnough = 4096;  // a page is composed some forty times until it fits
  std::string text;
  for (const Untrusted& word : run.command) {
    if (text.size() > kEnough) break;
    text += (text.empty() ? "" : " ") + quoteShell(std::string_view(word.raw()).substr(0, kEnough));
  }
  return text.empty() ? "(command unknown)" : text;
}

std::string lineText(const SourceLine& line) {
  std::string text = line.function.empty() ? "" : line.function.raw() + "()";
  if (line.file.empty()) return text;
  if (!text.empty()) text += " in ";
  text += line.file.raw();
  return line.line == 0 ? text : text + ":" + std::to_string(line.line);
}

std::vector<std::string> headline(const Analysis& a) {
  std::vector<std::string> parts = {"stallprof " STALLPROF_VERSION, commandText(a.run),
                                    trainersText(a), hostText(a)};
  if (a.run.framework) parts.push_back(*a.run.framework);
  return parts;
}

std::vector<std::string> warnings(const Analysis& a) {
  std::vector<std::string> out = incomplete(a);
  if (std::string failure = failureText(a.run); !failure.empty()) out.push_back(std::move(failure));
  out.insert(out.end(), a.caveats.begin(), a.caveats.end());
  return out;
}

std::string boundText(const Analysis& a) {
  const std::string& by = a.verdict.boundBy;
  const bool mixed = by == "mixed";
  if (a.verdict.mostlyComputes())
    return "Mostly compute (" + trainerTexts(a.breakdown).compute + "), " +
           (mixed ? "causes mixed" : "first fix in " + by + (by == "periodic" ? " work" : ""));
  if (mixed) return "Mixed";
  if (by == "compute" && a.breakdown.ratio && a.breakdown.ratio->other > a.breakdown.ratio->compute)
    return "Mostly other (" + trainerTexts(a.breakdown).other + "), first fix in compute";
  std::string text = by + "-bound";
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

VerdictParts verdictParts(const Analysis& a) {
  using Kind = VerdictParts::Kind;
  const Verdict& v = a.verdict;
  const bool known = v.boundBy != "unknown";
  if (v.healthy.value_or(false))
    return {Kind::kHealthy, "Nothing to fix in the input pipeline",
            known ? v.boundBy + "-bound" : ""};
  if (!known) {
    const NoVerdict withheld = v.withheld.value_or(NoVerdict{});
    return {Kind::kWithheld, "No verdict",
            noVerdictReason(withheld) +
                (withheld.at.known() ? ", most of it at " + shortPlace(withheld.at) : "")};
  }
  VerdictParts parts{Kind::kBound, boundText(a)};
  if (a.findings.empty()) return parts;
  parts.reason = a.findings[0].title;
  parts.gain = fixText(a.findings[0]);
  parts.secondAlike = v.boundBy == "mixed";
  return parts;
}

std::string verdictText(const Analysis& a) {
  const VerdictParts parts = verdictParts(a);
  const std::string sure = " (" + std::string(nameOf(a.verdict.confidence)) + " confidence)";
  const std::string reason = parts.reason.empty() ? "" : ": " + parts.reason;
  switch (parts.kind) {
    case VerdictParts::Kind::kHealthy:
      return parts.headline + reason + sure + ".";
    case VerdictParts::Kind::kWithheld:
      return parts.headline + reason + ".";
    case VerdictParts::Kind::kBound:
      break;
  }
  return parts.headline + sure +
         (parts.secondAlike ? ": findings 1 and 2 have about the same weight. 1" : "") + reason +
         "." + (parts.gain.empty() ? "" : " " + parts.gain);
}

std::string slowdownText(const Slowdown& slowdown) {
  const std::string pauses = countOf(slowdown.pairs, "pause");
  if (!slowdown.ratio) return "not resolved (" + pauses + ")";
  const auto percent = [](double ratio) { return fmt::format("{:+.1f}", (ratio - 1) * 100); };
  return percent(*slowdown.ratio) + " % (" + percent(*slowdown.low) + " to " +
         percent(*slowdown.high) + " %, " + pauses + ")";
}

namespace {

// Of several trainers, whose times a report has.
std::string ofTrainer(const Analysis& a) {
  for (const TrainerInfo& t : a.trainers)
    if (t.shown && a.trainers.size() > 1) return ", of " + trainerName(t);
  return {};
}

// What limits the report's details where samples were few.
std::string fewSamplesText(const CoverageInfo& coverage) {
  constexpr double kFew = 10;  // of a thread, a second
  if (!coverage.effectiveHz || *coverage.effectiveHz >= kFew) return {};
  return ", " + numberText(*coverage.effectiveHz) + " samples/s of a thread (--hz, --budget)";
}

}  // namespace

std::vector<std::string> captureParts(const Analysis& a) {
  std::vector<std::string> parts;
  if (a.steps.count > 0) {
    const std::int64_t warm = std::max<std::int64_t>(0, a.steps.count - a.steps.windowCount);
    parts.push_back(countOf(a.steps.count, "step") + ", " + countText(a.steps.windowCount) +
                    " in the window (" + countText(warm) + " warm-up excluded), " +
                    why(a.steps.source.value_or("an unknown source")) + ofTrainer(a));
  }
  parts.push_back(a.coverage.recorderCpuRatio
                      ? "recorder " + tenthPercentText(*a.coverage.recorderCpuRatio) +
                            " of one core" + fewSamplesText(a.coverage)
                      : "recorder's cost not measured");
  if (a.coverage.slowdown)
    parts.push_back("cost to this job's steps " + slowdownText(*a.coverage.slowdown));
  std::string losses;
  for (const auto& [name, count] : a.coverage.losses)
    losses += (losses.empty() ? "lost: " : ", ") + lossText(name, count);
  parts.push_back(losses.empty() ? "nothing lost" : losses);
  return parts;
}

// The mean is of the window, as pace and shares are: what lies between steps counts. Where that is
// not the mean of the steps alone, whose quantiles these are, it says so.
std::string stepTimeText(const StepsInfo& steps) {
  std::string text = std::string(kNotMeasuredText);
  if (steps.time) {
    const Nanos mean = steps.windowCount > 0 ? steps.window / steps.windowCount : steps.time->mean;
    const bool between = mean > steps.time->mean + steps.time->mean / 50;
    text = "p50 " + durationText(steps.time->p50) + "   p95 " + durationText(steps.time->p95) +
           "   p99 " + durationText(steps.time->p99) + "   mean " + durationText(mean) +
           (between ? " from step to step" : "");
  }
  if (steps.samplesPerSecond) text += "   " + rateText(*steps.samplesPerSecond, "samples");
  return text;
}

std::vector<std::string> useParts(const Analysis& a) {
  const Resources& r = a.resources;
  std::vector<std::string> parts;
  if (a.steps.ratePerSecond) parts.push_back(rateText(*a.steps.ratePerSecond, "steps"));
  if (a.steps.samplesPerSecond) parts.push_back(rateText(*a.steps.samplesPerSecond, "samples"));
  const auto named = [&](const char* name, const std::string& text) {
    parts.push_back(std::string(name) + " " + text);
  };
  named("CPU", r.jobCpuRatio ? percentText(*r.jobCpuRatio) : kNotMeasuredText);
  if (!a.run.host.gpus.empty() || r.gpuBusyRatio)
    named("GPU", r.gpuBusyRatio ? percentText(*r.gpuBusyRatio) +
                                      (a.device && a.device->basis == "nvml" ? " (NVML)" : "")
                                : kNotMeasuredText);
  named("read", r.readBytesPerSecond ? rateText(*r.readBytesPerSecond, "bytes") : kNotMeasuredText);
  if (r.cacheHitRatio) named("cache hits", percentText(*r.cacheHitRatio));
  named("peak RSS",
        r.peakRssBytes ? bytesText(static_cast<double>(*r.peakRssBytes)) : kNotMeasuredText);
  if (a.counters && a.counters->instructionsPerCycle)
    named("instructions a cycle", numberText(*a.counters->instructionsPerCycle));
  if (a.counters && a.counters->stalledRatio)
    named("stalled", percentText(*a.counters->stalledRatio) + " of cycles");
  return parts;
}

std::string gapText(const Ceiling& c) {
  if (!std::isfinite(c.gapRatio)) return kNotMeasuredText;
  const std::string percent = percentText(c.gapRatio);
  return (c.gapRatio < 0 || percent.starts_with('<') ? "" : "+") + percent;
}

std::string epochText(const EpochInfo& e) {
  const auto ratio = [](const Maybe<double>& r) { return r ? percentText(*r) : kNotMeasuredText; };
  return durationText(e.wall) + ", " + countOf(e.steps, "step") + ", waiting for data " +
         ratio(e.dataWaitRatio) +
         (e.cacheHitRatio ? ", cache hits " + percentText(*e.cacheHitRatio) : "");
}

std::string epochsText(const std::vector<EpochInfo>& epochs) {
  const bool cut = epochs.size() > 1 && epochs.back().steps < epochs.front().steps;
  const auto end = epochs.end() - (cut ? 1 : 0);
  const auto range = [&](auto value, auto text) {
    auto low = value(epochs.front()), high = low;
    for (auto e = epochs.begin(); e != end; ++e) {
      low = std::min(low, value(*e));
      high = std::max(high, value(*e));
    }
    const std::string from = text(low), to = text(high);
    return from == to ? from : from + " to " + to;
  };
  const auto share = [](double ratio) { return percentText(ratio); };
  const auto wait = [](const EpochInfo& e) { return e.dataWaitRatio.value_or(0); };
  const bool known = std::all_of(epochs.begin(), end, [](auto& e) { return e.dataWaitRatio; });
  return countOf(end - epochs.begin(), "epoch") + " of " +
         range([](const EpochInfo& e) { return e.wall; }, durationText) + " and " +
         range([](const EpochInfo& e) { return e.steps; }, countText) + " steps" +
         (known ? ", waiting for data " + range(wait, share) : "") +
         (cut ? "; the last was cut short" : "");
}

std::string trainerName(const TrainerInfo& t) {
  return (t.rank ? "rank " + std::to_string(*t.rank) : "pid " + std::to_string(t.pid)) +
         (t.attempt > 1 ? " (attempt " + std::to_string(t.attempt) + ")" : "");
}

std::string trainerText(const TrainerInfo& t) {
  std::string text = trainerName(t) + ": " + countOf(t.steps.count, "step");
  if (t.steps.time) text += ", p50 " + durationText(t.steps.time->p50);
  if (t.breakdown.ratio)
    text += ", waiting for data " + percentText(t.breakdown.ratio->dataWait) + ", compute " +
            percentText(t.breakdown.ratio->compute);
  return text + ", bound by " + t.verdict.boundBy;
}

std::string costText(const Cost& cost) {
  const auto money = [](double v) { return fmt::format("{:.{}f}", v, std::abs(v) < 0.1 ? 4 : 2); };
  std::string text;
  if (cost.epochs) {
    text = numberOf(*cost.epochs, "epoch") + ": " + durationText(*cost.time);
    if (cost.timeFixed && *cost.timeFixed != *cost.time)
      text += ", " + durationText(*cost.timeFixed) + " with the first fix" +
              (cost.measured ? ", as measured" : ", as predicted");
  }
  if (!cost.pricePerHour) return text.empty() ? "no whole epoch was recorded" : text;
  text += (text.empty() ? "at " : "; at ") + money(*cost.pricePerHour) + " an hour: ";
  if (cost.money) {
    text += money(*cost.money);
    return cost.saved.value_or(0) > 0
               ? text + ", " + money(*cost.saved) + " of it saved by the first fix"
               : text;
  }
  text += cost.perEpoch ? money(*cost.perEpoch) + " per epoch" : "cost per epoch not measured";
  if (cost.wastedPerEpoch.value_or(0) > 0)
    text += ", " + money(*cost.wastedPerEpoch) + " of it saved by the first fix";
  return text;
}

std::string loaderText(const LoaderInfo& l) {
  std::string text = l.kind.empty() ? "loader" : l.kind;
  text += ": num_workers=" + std::to_string(l.workers);
  if (l.batchSize) text += ", batch_size=" + std::to_string(*l.batchSize);
  if (l.prefetch) text += ", prefetch_factor=" + std::to_string(*l.prefetch);
  if (l.pinMemory) text += ", pin_memory";
  if (l.persistent) text += ", persistent_workers";
  if (!l.package.empty()) text += ", made by " + l.package;
  const std::string where = lineText(l.where);
  return where.empty() ? text : text + "  " + where;
}

std::vector<std::string> nextCommands(const Analysis& a, const PresentOptions& options) {
  std::vector<std::string> out;
  if (!options.recording.empty()) {
    const std::string report = "stallprof report " + quoteShell(options.recording);
    out.push_back(report + " --format html -o report.html");
    out.push_back(report + " --format json");
  }
  if (!a.findings.empty()) out.push_back("stallprof explain " + a.findings[0].id);
  if (a.steps.count == 0) out.emplace_back("stallprof explain steps");
  out.emplace_back("stallprof doctor");
  return out;
}

}  // namespace stallprof
