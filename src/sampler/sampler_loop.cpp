// SPDX-License-Identifier: MIT
#include "sampler/sampler_loop.h"

#include <algorithm>
#include <utility>

namespace stallprof {
namespace {

// A wake-up costs more than most samplers (25 us on a virtual machine against 5): what is due
// within this long, or a quarter of its period, is done now. More than the 10 ms of a usual pace,
// so that whoever is due less often wakes us for itself only while no thread is sampled.
constexpr Nanos kTogether{12'500'000};

}  // namespace

SamplerLoop::SamplerLoop(unsigned hz, double share, const std::optional<PauseSchedule>& pauses)
    : governor_(kOneSecond / hz, share),
      pace_(governor_.pace()),
      pauses_(pauses),
      clock_(stallprof::now),
      cpuClock_(processCpu) {}

void SamplerLoop::add(Sampler& sampler) {
  sampler.setPace(pace_);
  if (leader_ == nullptr && sampler.leads()) leader_ = &sampler;
  entries_.push_back({&sampler, Nanos{-1}, Nanos::zero()});
}

Nanos SamplerLoop::nextDue() const {
  if (paused()) return pauses_->due();
  Nanos next = Nanos::max();
  for (const Entry& entry : entries_) next = std::min(next, entry.due + late(*entry.sampler));
  return next;
}

Nanos SamplerLoop::early(const Sampler& sampler) const {
  const Nanos usual = std::min(sampler.period() / 4, kTogether);
  if (leader_ == nullptr || leader_ == &sampler) return usual;
  return std::max(usual, std::min(sampler.period(), leader_->period()) / 2);
}

bool SamplerLoop::follows(const Sampler& sampler) const {
  return leader_ != nullptr && leader_ != &sampler && sampler.period() >= leader_->period();
}

// With the half of `early`, a turn of the leader as long as it may get; whoever is due more often
// keeps its own rate.
Nanos SamplerLoop::late(const Sampler& sampler) const {
  if (leader_ == nullptr || leader_ == &sampler) return Nanos::zero();
  return follows(sampler) ? leader_->period() + early(*leader_) : sampler.period() / 4 * 3;
}

// Evenly from -maximum to maximum, by xorshift64: any sequence does that is not in step with the
// job.
Nanos SamplerLoop::jitter(Nanos maximum) {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  const Nanos::rep width = std::max<Nanos::rep>(maximum.count(), 1);
  return Nanos(static_cast<Nanos::rep>(random_ % static_cast<std::uint64_t>(2 * width)) - width);
}

// CPU is asked for twice only around the calls that are a second apart. How often the one that
// leads is called is the governor's to say, who has its cost in the pace.
void SamplerLoop::call(Entry& entry, Nanos now, EventOut& out) {
  const bool seldom = entry.sampler != leader_ && entry.sampler->period() >= kOneSecond;
  const Nanos before = seldom ? cpuClock_() : Nanos::zero();
  entry.sampler->sample(now, out);
  entry.costBefore = std::exchange(entry.cost, seldom ? cpuClock_() - before : Nanos::zero());
}

void SamplerLoop::plan(Entry& entry, Nanos now) {
  // The cheaper of two calls: the first has more to do, and any may be a burst.
  const Nanos cost = std::min(entry.cost, entry.costBefore);
  const double share = pace_.share * kPartOfOne;
  const Nanos bearable(static_cast<Nanos::rep>(static_cast<double>(cost.count()) / share));
  const Nanos period = std::max({entry.sampler->period(), Nanos(1'000'000), bearable});
  if (entry.planned < Nanos::zero()) entry.planned = now;
  entry.planned += period;
  // A step may last as long as a turn, or 2/3 of it: on a grid its samples would then come from the
  // same few places of it, and what lies between would not be seen. So each gap is drawn for
  // itself.
  const bool leads = entry.sampler == leader_;
  if (leads) entry.planned += jitter(period / 2);
  if (entry.planned <= now) {  // behind by a whole period: skip, do not catch up
    const auto behind = (now - entry.planned) / period + 1;
    // As late as it may wait for the leader, or as the leader's gap was short, nothing is missed.
    const Nanos allowed = leads ? period / 2 : late(*entry.sampler);
    if (now - entry.planned >= allowed) missed_ += static_cast<std::uint64_t>(behind);
    entry.planned += behind * period;
  }
  const Nanos wanted = entry.planned + (leads ? Nanos{} : jitter(period / 10));
  // One that waited for the leader is not due again before the leader may be.
  entry.due = std::max(wanted, now + (follows(*entry.sampler) ? early(*entry.sampler) : Nanos(1)));
}

void SamplerLoop::notePace(Nanos now, const StepPace& pace) {
  if (pauses_) pauses_->update(now, pace);
  if (pace.trainers.empty() || leader_ == nullptr) return;
  governor_.setPreferring();
  leader_->prefer(pace.trainers);
}

// A pause begins after a turn of the samplers, and ends before one.
void SamplerLoop::step(Nanos now, EventOut& out) {
  if (paused()) {
    if (now < pauses_->due()) return;
    resume(now, out);
    return pauses_->turn(now);
  }
  sampleDue(now, out);
  if (!pauses_ || now < pauses_->due()) return;
  const Nanos begin = clock_();  // the turn took some time
  pause(begin);
  pauses_->turn(begin);
}

void SamplerLoop::sampleDue(Nanos now, EventOut& out) {
  for (Entry& entry : entries_) {
    if (now + early(*entry.sampler) < entry.due) continue;
    call(entry, now, out);
    plan(entry, now);
  }
  govern(now);
  reportMissed(now, out);
}

// What it takes to pause and to go on is the samplers' CPU; what was used in between is not.
void SamplerLoop::pause(Nanos now) {
  for (const Entry& entry : entries_) entry.sampler->pause();
  pausedAt_ = now;
  pausedCpu_ = cpuClock_();
}

void SamplerLoop::resume(Nanos now, EventOut& out) {
  const Nanos paused = std::max(now - pausedAt_, Nanos::zero());
  cpuThen_ += cpuClock_() - pausedCpu_;
  out.emit(pausedAt_, SamplingPause{paused});
  for (Entry& entry : entries_) {
    entry.planned += paused;
    entry.due += paused;
    entry.sampler->resume(now, paused);
  }
  governedAt_ += paused;
  missedReportedAt_ += paused;
  paused_ += paused;
}

void SamplerLoop::finish(Nanos now, EventOut& out) {
  if (paused()) resume(now, out);
  for (Entry& entry : entries_) entry.sampler->finish(now, out);
  missedReportedAt_ = now - kOneSecond;
  reportMissed(now, out);
}

void SamplerLoop::govern(Nanos now) {
  if (governedAt_ >= Nanos::zero() && now - governedAt_ < Governor::kInterval) return;
  const Nanos cpu = cpuClock_();
  const bool first = governedAt_ < Nanos::zero();
  const Nanos wall = now - std::exchange(governedAt_, now);
  const Nanos spent = cpu - std::exchange(cpuThen_, cpu);
  Nanos paced{};
  for (const Entry& entry : entries_) paced += entry.sampler->pacedCpu();
  const Nanos samples = paced - std::exchange(pacedThen_, paced);
  const Nanos job = jobCpu_ ? jobCpu_() : Nanos::zero();
  const Nanos worked = job - std::exchange(jobThen_, job);
  const Nanos paused = std::exchange(paused_, Nanos::zero());
  if (first) return;
  const Pace pace = governor_.update(wall, spent, samples, worked, paused);
  if (pace == std::exchange(pace_, pace)) return;
  for (const Entry& entry : entries_) entry.sampler->setPace(pace);
}

void SamplerLoop::reportMissed(Nanos now, EventOut& out) {
  if (missed_ == 0 || now - missedReportedAt_ < kOneSecond) return;
  missedReportedAt_ = now;
  out.emit(now, Loss{LossKind::kTickMissed, std::exchange(missed_, 0), {}});
}

std::uint32_t SamplerLoop::milliHz() const {
  return static_cast<std::uint32_t>(1e12 / static_cast<double>(pace_.period.count()) /
                                    static_cast<double>(pace_.turns));
}

}  // namespace stallprof
