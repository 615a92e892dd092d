// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/facts/analysis.h"
#include "analysis/facts/run_facts.h"
#include "analysis/model/pipeline_model.h"

namespace stallprof {

// 19 of 20 measured settings, of small gains, were within 4.6 % of the model.
inline constexpr double kModelError = 0.046;
// It errs more, the more a change changes: by this part of the logarithm of the gain. Of 89
// settings of open programs of tests/corpus that were tried (reports/accuracy.json, 4312bff to
// c96932e1) the root mean square of errors was 3 % at gains of 1.06 and 1.16, 5 % at 1.3, 11 %
// at 1.7, 15 % at 2.6; 83 would lie in intervals of both, computed from the ends stored there.
inline constexpr double kChangeError = 0.15;

// The pipeline model fitted to one trainer: what a change of settings would gain. The model is
// calibrated: a prediction is the ratio of two simulations, so a base that is off by a factor
// cancels; a base off by more than 15 % is not believed and predicts nothing.
class Gains {
 public:
  // `measured`: seconds a step; `external`: share of the cores used by others.
  Gains(Workload workload, PipelineSettings base, double measured, double external);

  [[nodiscard]] const PipelineSettings& base() const { return base_; }
  [[nodiscard]] const Workload& workload() const { return workload_; }
  [[nodiscard]] const Demand& demand() const { return demand_; }
  [[nodiscard]] double measured() const { return measured_; }
  [[nodiscard]] double gap() const { return gap_; }  // measured / modelled - 1
  [[nodiscard]] bool fits() const { return fits_; }

  // Old / new step time, or 1 where the model does not fit.
  [[nodiscard]] double speedup(const PipelineSettings& changed) const;
  // The same with its 90 % interval: the quantiles over resampled blocks of steps, widened by what
  // the model misses and by other tenants. All null where the model does not fit.
  [[nodiscard]] Prediction predict(const PipelineSettings& changed) const;
  // For a change whose size is known only within bounds: the interval spans both ends.
  [[nodiscard]] Prediction predict(const PipelineSettings& likely, const PipelineSettings& minimum,
                                   const PipelineSettings& maximum) const;
  // For a change whose size is assumed: the high end is what the largest gains, no more, as nobody
  // has measured that it is so large.
  [[nodiscard]] Prediction predictAssumed(const PipelineSettings& likely,
                                          const PipelineSettings& minimum,
                                          const PipelineSettings& maximum) const;
  // The measured step time over that of `changed`: of an arrangement in which nothing of what the
  // model may miss is left, no workers, for one. Needs no base that fits; null where nothing was
  // measured. The interval is of that one simulation.
  [[nodiscard]] Prediction predictMeasured(const PipelineSettings& changed) const;
  // The fewest workers within 2 % of the best the model finds from `minimum` to `maximum`.
  [[nodiscard]] int bestWorkers(PipelineSettings changed, int minimum, int maximum) const;

 private:
  [[nodiscard]] std::vector<double> play(const PipelineSettings& s, std::size_t draws) const;
  [[nodiscard]] double widening(double gain) const;
  // No change of the loading alone makes a run faster than with its data always ready, but for what
  // the model misses; one of the trainer's own work besides, by no more than that work becomes
  // less.
  [[nodiscard]] double limitOf(const PipelineSettings& changed) const;

  Workload workload_;
  PipelineSettings base_;
  Demand demand_;
  double measured_, external_, gap_ = 0;
  double dataReady_ = 0;  // the speedup of that
  bool fits_ = false;
  std::vector<Draw> draws_;
  std::vector<double> baseTimes_;
};

// Settings within 2 % of the best are not worth more processes.
inline constexpr double kGoodEnough = 1.02;
// `cores` that are ours while others use `external` of them.
[[nodiscard]] double coresLeft(double cores, double external);

// The bounds no arrangement of the same work can beat: the step takes at least the longest
// of them. One entry a stage, slowest first, in steps a second, each with its gap to what was
// measured. Checkpoints and evaluation add to every one, amid steps and between epochs: a trainer
// that saves makes no steps meanwhile. `periodic`: their share of the time, by samples too.
[[nodiscard]] std::vector<Ceiling> ceilingsOf(const Gains& gains, const RunFacts& run,
                                              double periodic);

// Takes out of `ceilings` those below the measured pace by more than the model's error, and returns
// them: what the run has beaten is no bound of it. Within that error the bound is the pace itself.
[[nodiscard]] std::vector<Ceiling> takeMisfits(std::vector<Ceiling>& ceilings, double measured);

// True where the two tightest ceilings are within 10 %: fixing one alone gains little.
[[nodiscard]] bool nearTie(const std::vector<Ceiling>& ceilings);

}  // namespace stallprof
