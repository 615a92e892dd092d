// SPDX-License-Identifier: MIT
#include "launch/recorder/progress.h"

#include <algorithm>

#include "base/units.h"
#include "event/range_names.h"

namespace stallprof {
namespace {

// A median of more is no better; a forged stream of events takes no more memory.
constexpr std::size_t kMaxGaps = 16384, kMaxThreads = 4096;

}  // namespace

StringId Progress::intern(std::string_view text) {
  const StringId id = out_.intern(text);
  if (awaited_.contains(text)) names_[id.value] = text;
  return id;
}

void Progress::put(const Event& event) {
  out_.put(event);
  ++taken_;
  if (const auto* loader = std::get_if<LoaderSeen>(&event.payload))
    workers_ = std::max(workers_, static_cast<unsigned>(std::clamp(loader->workers, 0, 256)));
  else if (const auto* setting = std::get_if<SettingChanged>(&event.payload)) {
    if (const auto name = names_.find(setting->name.value); name != names_.end()) {
      if (name->second == kReplaySetting) {
        seen_.clear();
        updated_ = Nanos(-1);
      }
      awaited_.erase(name->second);
    }
  } else if (const auto* range = std::get_if<Range>(&event.payload)) {
    ranges_ = true;
    if (const auto kind = stepKind(*range); kind && range->duration > Nanos(0))
      note(*kind, range->thread, event.at, Nanos(0), 1);
  } else if (std::holds_alternative<PhaseSpan>(event.payload))
    ranges_ = true;
  else if (const auto* fetch = std::get_if<Fetch>(&event.payload)) {
    if (!fetch->end) note(Kind::kBatch, fetch->thread, event.at, fetch->duration, 1);
  } else if (const auto* step = std::get_if<OptimizerStep>(&event.payload)) {
    if (updated_ < Nanos(0)) {
      updated_ = event.at;
      for (auto& [key, seen] : seen_) seen.before = seen.total;
    }
    note(Kind::kOptimizer, step->thread, event.at, Nanos(0), std::max(step->steps, 1u));
  }
}

std::optional<Progress::Kind> Progress::stepKind(const Range& range) const {
  if (textOf(range.domain) == kMarksDomain)
    return textOf(range.name) == kMarkedStep ? std::optional(Kind::kMark) : std::nullopt;
  return namesStep(textOf(range.name)) ? std::optional(Kind::kRange) : std::nullopt;
}

void Progress::note(Kind kind, ThreadId thread, Nanos at, Nanos wait, std::uint32_t count) {
  if (seen_.size() >= kMaxThreads && !seen_.contains({kind, thread.value})) return;
  Seen& seen = seen_[{kind, thread.value}];
  if (lines_ && seen.last >= Nanos(0) && at > seen.last && seen.gaps.size() < kMaxGaps)
    seen.gaps.push_back((at - seen.last) / count);
  if (seen.first < Nanos(0)) seen.first = at;
  seen.last = at;
  seen.ends[seen.calls++ % kPaceSteps] = at;
  if (seen.calls == kPaceSteps &&
      std::find(trainers_.begin(), trainers_.end(), thread) == trainers_.end())
    trainers_.push_back(thread);
  seen.wait += wait;
  seen.total += count;
  seen.since += count;
  if (from_ < Nanos(0)) from_ = at;
}

const Progress::Seen* Progress::busiest(bool fromUpdate) const {
  const auto madeBy = [&](const Seen& seen) { return seen.total - (fromUpdate ? seen.before : 0); };
  const Seen* busiest = nullptr;
  Kind kind = Kind::kBatch;
  for (const auto& [key, seen] : seen_) {
    if (busiest != nullptr && (key.first != kind || madeBy(seen) <= madeBy(*busiest))) continue;
    busiest = &seen;
    kind = key.first;
  }
  return busiest;
}

Progress::Made Progress::made(bool fromUpdate) const {
  if (fromUpdate && updated_ < Nanos(0)) return {};
  const Seen* seen = busiest(fromUpdate);
  if (seen == nullptr) return {};
  return fromUpdate ? Made{seen->total - seen->before, updated_} : Made{seen->total, seen->first};
}

StepPace Progress::pace() const {
  const Seen* busiest = this->busiest(false);
  StepPace pace{{}, workers_, ranges_, trainers_};
  if (busiest == nullptr || busiest->calls < kPaceSteps) return pace;
  const auto [first, last] = std::minmax_element(busiest->ends.begin(), busiest->ends.end());
  pace.step = (*last - *first) / static_cast<Nanos::rep>(kPaceSteps - 1);
  return pace;
}

std::string Progress::line(Nanos now) {
  const Seen* busiest = nullptr;
  Kind kind = Kind::kBatch;
  for (const auto& [key, seen] : seen_) {
    if (seen.since == 0) continue;
    if (busiest != nullptr && (key.first != kind || seen.since <= busiest->since)) continue;
    busiest = &seen;
    kind = key.first;
  }
  const Nanos period = now - from_;
  if (busiest == nullptr || period <= Nanos(0)) return "";
  std::vector<Nanos> gaps = busiest->gaps;
  std::nth_element(gaps.begin(), gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2),
                   gaps.end());
  std::string line =
      countOf(static_cast<std::int64_t>(busiest->total), kind == Kind::kBatch ? "batch"
                                                         : kind == Kind::kOptimizer
                                                             ? "optimizer step"
                                                             : "step") +
      ", " + numberText(static_cast<double>(busiest->since) / seconds(period)) + " a second";
  if (!gaps.empty()) line += ", p50 " + durationText(gaps[gaps.size() / 2]);
  if (kind == Kind::kBatch)
    line += ", " + percentText(std::min(1.0, seconds(busiest->wait) / seconds(period))) +
            " of the time waiting for data";
  for (auto& [key, seen] : seen_) {
    seen.since = 0;
    seen.wait = Nanos(0);
    seen.gaps.clear();
  }
  from_ = now;
  return line;
}

}  // namespace stallprof
