// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sampler/governor.h"
#include "sampler/pause_schedule.h"
#include "sampler/proc/sampler.h"

namespace stallprof {

// Calls each sampler when it is due, on an absolute schedule with +-10 % jitter. Where one leads,
// the gaps between its calls are drawn from half to one and a half periods, so that every instant
// of the job is as likely to be sampled, whatever its own rhythm; and the others are called when it
// is called next, a little early or late: waking up takes as long as sampling several threads, and
// finds all caches cold. Late by more than a period: the missed samples are skipped and reported as
// Loss kTickMissed, once a second. Does not sleep: the owner waits until nextDue(), then step()s.
// Samplers are called in the order they were added; put the ProcessTree first. One that is due once
// a second and costs more than kPartOfOne of the recorder's budget is due less often: reading the
// counters of a process with 20,000 threads takes 4 ms.
class SamplerLoop {
 public:
  static constexpr double kPartOfOne = 0.1;
  // `hz`: samples a second of an active thread, 1 to 1000: the pace the governor starts with.
  // `share`: the budget of the recorder (Governor). `pauses`: when nothing is sampled.
  explicit SamplerLoop(unsigned hz, double share = Governor::kShare,
                       const std::optional<PauseSchedule>& pauses = {});
  // Not owned; must outlive the loop. The first that leads does.
  void add(Sampler& sampler);

  [[nodiscard]] Nanos nextDue() const;
  // Samples who is due, unless it is paused; begins and ends pauses. All due times move by the
  // length of a pause, and the governor does not count it: nothing is missed, and nothing caught
  // up.
  void step(Nanos now, EventOut& out);
  // What the job steps like, as far as is known: what pauses are planned by, and which threads are
  // sampled before others.
  void notePace(Nanos now, const StepPace& pace);
  // Nothing is sampled until nextDue().
  [[nodiscard]] bool paused() const { return pauses_ && pauses_->paused(); }
  // The last call: every sampler gives what it holds back.
  void finish(Nanos now, EventOut& out);

  // Samples a second of an active thread as the governor allows now, in thousandths.
  [[nodiscard]] std::uint32_t milliHz() const;
  // Where the job's CPU so far is read, for the budget; without it the job has less than a core.
  void setJobCpu(std::function<Nanos()> jobCpu) { jobCpu_ = std::move(jobCpu); }
  // For tests: where the CPU of this process and the time are read.
  void setCpuClock(std::function<Nanos()> clock) { cpuClock_ = std::move(clock); }
  void setClock(std::function<Nanos()> clock) { clock_ = std::move(clock); }

 private:
  struct Entry {
    Sampler* sampler = nullptr;
    Nanos planned{};             // on the grid; of the leader, with all jitter so far
    Nanos due{};                 // with jitter
    Nanos cost{}, costBefore{};  // of the last two calls
  };
  // It is called at the leader's turns alone.
  [[nodiscard]] bool follows(const Sampler& sampler) const;
  // How far off its time another's turn serves for a sampler.
  [[nodiscard]] Nanos early(const Sampler& sampler) const;
  [[nodiscard]] Nanos late(const Sampler& sampler) const;
  void sampleDue(Nanos now, EventOut& out);
  void pause(Nanos now);
  void resume(Nanos now, EventOut& out);
  void call(Entry& entry, Nanos now, EventOut& out);
  void plan(Entry& entry, Nanos now);
  [[nodiscard]] Nanos jitter(Nanos maximum);
  void govern(Nanos now);
  void reportMissed(Nanos now, EventOut& out);

  std::vector<Entry> entries_;
  Sampler* leader_ = nullptr;
  Governor governor_;
  Pace pace_;
  std::optional<PauseSchedule> pauses_;
  std::function<Nanos()> clock_, cpuClock_, jobCpu_;
  Nanos governedAt_{-1}, cpuThen_{}, pacedThen_{}, jobThen_{}, missedReportedAt_{};
  Nanos pausedAt_{}, pausedCpu_{}, paused_{};  // of the pause; all of them since governedAt_
  std::uint64_t missed_ = 0, random_ = 0x9E3779B97F4A7C15ull;
};

}  // namespace stallprof
