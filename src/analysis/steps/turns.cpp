// SPDX-License-Identifier: MIT
#include "analysis/steps/turns.h"

#include <algorithm>

namespace stallprof {
namespace {

constexpr double kLongTurn = 3;     // times the median step
constexpr double kFewSteps = 0.25;  // of the steps

constexpr std::size_t kMinModels = 40;  // of which a twentieth is two
constexpr std::size_t kMinTurns = 20;   // of which a median says something
// Samples that wait for their turn's model, or for the end: a day of them at 24 Hz.
constexpr std::size_t kMaxHeld = 1u << 21;

}  // namespace

Turns::Turns(const Trace& trace, ThreadId thread, Report report) : report_(std::move(report)) {
  const auto its = [&](const auto& row) { return row.data.thread == thread; };
  for (const auto& row : trace.fetches)
    if (its(row)) steps_.push_back(intervalOf(row));
  fetched_ = !steps_.empty();
  if (fetched_) return;
  for (const auto& row : trace.optimizerSteps)
    if (its(row)) steps_.push_back(intervalOf(row));
}

void Turns::sample(Nanos at, StackId stack, const PhaseRule* rule) {
  while (next_ < steps_.size() && steps_[next_].end <= at) {
    begin_ = steps_[next_++].end;
    seen_ = false;
    begun_ = true;
    const std::size_t room = std::min(before_.size(), kMaxHeld - lone_.size());
    lone_.insert(lone_.end(), before_.begin(), before_.begin() + static_cast<std::ptrdiff_t>(room));
    before_.clear();
  }
  const bool between = next_ == steps_.size() || steps_[next_].begin > at;
  if (!begun_ || (fetched_ && !between)) return;
  const bool model = !between || (rule && (namesModel(*rule) || namesOperators(*rule)));
  if (model && models_.size() < kMaxHeld) models_.push_back(at - begin_);
  seen_ = seen_ || model;
  if (!seen_) {
    if (before_.size() < kMaxHeld) before_.push_back({stack, at - begin_});
    return;
  }
  for (const Early& early : before_) report_(early.stack, At::kBefore);
  before_.clear();
  report_(stack, At::kAfter);
}

void Turns::end() {
  if (models_.size() < kMinModels) return;
  std::sort(models_.begin(), models_.end());
  const Nanos first = models_[models_.size() / 20], middle = models_[models_.size() / 2];
  for (const Early& early : lone_)
    if (early.since < first || early.since > middle)
      report_(early.stack, early.since < first ? At::kBefore : At::kAfter);
}

LongSteps::LongSteps(const Trace& trace, ThreadId thread, Nanos begin, Nanos end) {
  Intervals steps;
  std::vector<Nanos> lengths;
  std::optional<Nanos> last;
  for (const auto& row : trace.optimizerSteps) {
    if (row.data.thread != thread || row.at < begin || row.end() > end) continue;
    if (last) {
      steps.push_back({*last, row.at});
      lengths.push_back(row.at - *last);
    }
    last = row.end();
  }
  if (steps.size() < kMinTurns) return;
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  for (const Interval& step : steps)
    if (seconds(step.length()) > kLongTurn * seconds(*middle)) long_.push_back(step);
  if (static_cast<double>(long_.size()) > kFewSteps * static_cast<double>(steps.size()))
    long_.clear();
}

std::optional<std::size_t> LongSteps::at(Nanos at) {
  while (next_ < long_.size() && long_[next_].end <= at) ++next_;
  if (next_ == long_.size() || long_[next_].begin > at) return std::nullopt;
  return next_;
}

}  // namespace stallprof
