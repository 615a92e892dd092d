// SPDX-License-Identifier: MIT
#include "analysis/model/pipeline_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <queue>
#include <vector>

#include "base/splitmix64.h"

namespace stallprof {
namespace {

// Cores as processor sharing, and delays, on one clock. Everything runnable advances at one rate,
// so CPU work is due at a point of a common virtual clock that runs at that rate: no event ever has
// to be rescheduled when the rate changes.
class Machine {
 public:
  explicit Machine(double cores) : cores_(std::max(cores, 1e-3)) {}
  [[nodiscard]] double now() const { return now_; }

  void wait(int who, double length) { delays_.push({now_ + length, who, 0}); }
  void compute(int who, double length, double weight) {
    runnable_ += weight;
    cpu_.push({virtual_ + length, who, weight});
  }

  // The next to finish, or -1 when nothing is under way.
  int advance() {
    const double rate = runnable_ > cores_ ? cores_ / runnable_ : 1;
    const double cpuAt =
        cpu_.empty() ? kNever : now_ + std::max(0.0, cpu_.top().due - virtual_) / rate;
    const double delayAt = delays_.empty() ? kNever : delays_.top().due;
    if (cpuAt == kNever && delayAt == kNever) return -1;
    const bool cpuFirst = cpuAt <= delayAt;
    const double then = std::max(now_, std::min(cpuAt, delayAt));
    virtual_ = cpuFirst ? cpu_.top().due : virtual_ + (then - now_) * rate;
    now_ = then;
    auto& from = cpuFirst ? cpu_ : delays_;
    const Due first = from.top();
    from.pop();
    runnable_ = cpu_.empty() ? 0 : runnable_ - first.weight;
    return first.who;
  }

 private:
  struct Due {
    double due;
    int who;
    double weight;
    bool operator>(const Due& o) const { return due != o.due ? due > o.due : who > o.who; }
  };
  using Heap = std::priority_queue<Due, std::vector<Due>, std::greater<>>;
  double cores_, now_ = 0, virtual_ = 0, runnable_ = 0;
  Heap delays_, cpu_;
  static constexpr double kNever = std::numeric_limits<double>::infinity();
};

// One stage of somebody's work: a delay, or CPU with a weight in cores.
struct Stage {
  double length = 0;
  double weight = 0;  // 0: a delay
};
using Stages = std::array<Stage, 3>;  // unused ones have no length

BatchDemand scaled(const BatchDemand& b, const PipelineSettings& s) {
  BatchDemand d = b;
  if (s.evenSamples)
    for (double* part : {&d.blocked, &d.cpu}) *part *= 1 - d.excess;
  d.io *= s.ioScale;
  d.cpu = d.cpu * s.cpuScale + s.sending;
  d.put *= s.loadScale;
  if (s.singleThreaded) {
    d.cpu *= d.pool;
    d.pool = 1;
  }
  return d;
}

// Trainer and workers as actors that walk through stages. Actor -1 is the trainer.
class Pipeline {
 public:
  Pipeline(const Workload& w, const PipelineSettings& s, const Draw& draw)
      : workload_(w), settings_(s), draw_(draw), machine_(s.cores), actors_(1u + workerCount()) {}

  // Plays `steps` of the draw from `first` as one epoch; marks the time of each step's end.
  void playEpoch(std::size_t first, std::size_t steps) {
    first_ = first;
    length_ = steps;
    sent_ = delivered_ = 0;
    cycle_ = 0;
    arrived_.assign(steps, false);
    early_.clear();
    outstanding_.assign(workerCount(), 0);
    const double startup = settings_.startup >= 0 ? settings_.startup : workload_.startup;
    const double again = settings_.persistent ? workload_.firstStart : 1;
    begin(0, {{{workerCount() == 0 ? 0 : startup * again, 0}}});
    trainer_ = Doing::kStarting;
    while (delivered_ < length_ || trainer_ != Doing::kDone) {
      const int who = machine_.advance();
      if (who < 0) return;
      if (nextStage(static_cast<std::size_t>(who))) continue;
      who == 0 ? trainerDone() : workerDone(static_cast<std::size_t>(who) - 1);
    }
  }
  [[nodiscard]] const std::vector<double>& marks() const { return marks_; }

 private:
  enum class Doing { kStarting, kWaiting, kFetching, kStepping, kDone };
  struct Actor {
    Stages stages{};
    std::size_t at = 0;
    std::deque<std::size_t> queue;  // batches dispatched to this worker
    bool busy = false;
  };

  [[nodiscard]] std::size_t workerCount() const {
    return static_cast<std::size_t>(std::max(0, settings_.workers));
  }
  [[nodiscard]] std::size_t drawn(std::size_t i, std::size_t count) const {
    return draw_[(first_ + i) % draw_.size()] % count;
  }
  // What the draw has for the epoch's batch or step `i`, or another where that is none of its kind.
  template <class Demand>
  [[nodiscard]] const Demand& alike(const std::vector<Demand>& all, const Firsts& known,
                                    std::size_t i, bool first) const {
    const Demand& here = all[drawn(i, all.size())];
    const auto& kind = first ? known.firsts : known.others;
    return kind.empty() || here.first == first ? here : all[kind[drawn(i, kind.size())]];
  }
  // An epoch begins as one does whose workers were just started.
  [[nodiscard]] bool started() const {
    return workerCount() > 0 && (!settings_.persistent || settings_.slowFirsts);
  }
  [[nodiscard]] BatchDemand batch(std::size_t i) const {
    const bool first = started() && i < workerCount();
    return scaled(alike(workload_.batches, workload_.ofBatches, i, first), settings_);
  }

  void begin(std::size_t who, const Stages& stages) {
    Actor& a = actors_[who];
    a.stages = stages;
    a.at = 0;
    a.busy = true;
    start(who);
  }
  void start(std::size_t who) {
    const Stage& s = actors_[who].stages[actors_[who].at];
    s.weight > 0 ? machine_.compute(static_cast<int>(who), s.length, s.weight)
                 : machine_.wait(static_cast<int>(who), s.length);
  }
  bool nextStage(std::size_t who) {
    Actor& a = actors_[who];
    while (++a.at < a.stages.size())
      if (a.stages[a.at].length > 0) return start(who), true;
    return false;
  }

  static Stages stagesOf(const BatchDemand& b) {
    return {{{b.io + b.blocked, 0}, {b.cpu, b.pool}, {b.put, 0}}};
  }

  // The device works beside the host: a step takes as long as the longer of the two. Where the
  // trainer made its own batches the device had the fetch for it, too, and with workers it has not.
  [[nodiscard]] double minStep(const StepDemand& s) const {
    const double device = workload_.device * settings_.deviceScale;
    if (workload_.inProcess) return workerCount() > 0 ? device : 0;
    return std::min(s.beside(), device);
  }

  Stages stagesOf(const StepDemand& s) const {
    const double changed =
        s.own * settings_.ownScale + s.load * settings_.loadScale + s.copy * settings_.copyScale;
    const double running = changed * std::min(1.0, workload_.trainerCpuRatio);
    const double device = std::max(0.0, minStep(s) - changed - settings_.handoff);
    return {{{running + settings_.handoff, std::max(1.0, workload_.trainerCpuRatio)},
             {changed - running + device + s.periodic * settings_.periodicScale, 0}}};
  }

  void dispatch() {
    if (workerCount() == 0 || sent_ >= length_) return;
    std::size_t worker = cycle_++ % workerCount();
    if (!settings_.inOrder)
      for (std::size_t tries = 1; tries < workerCount(); ++tries) {
        if (outstanding_[worker] < settings_.prefetch) break;
        worker = cycle_++ % workerCount();
      }
    ++outstanding_[worker];
    actors_[worker + 1].queue.push_back(sent_++);
    takeNext(worker);
  }
  void takeNext(std::size_t worker) {
    Actor& a = actors_[worker + 1];
    if (a.busy || a.queue.empty()) return;
    begin(worker + 1, stagesOf(batch(a.queue.front())));
  }
  void workerDone(std::size_t worker) {
    Actor& a = actors_[worker + 1];
    const std::size_t index = a.queue.front();
    a.queue.pop_front();
    a.busy = false;
    arrived_[index] = true;
    makers_.resize(std::max(makers_.size(), index + 1));
    makers_[index] = worker;
    early_.push_back(index);
    takeNext(worker);
    if (trainer_ == Doing::kWaiting) fetch();
  }

  // The trainer asks for its next batch: takes it, or waits for it.
  void fetch() {
    trainer_ = Doing::kWaiting;
    if (workerCount() == 0) {
      trainer_ = Doing::kFetching;
      return begin(0, stagesOf(batch(delivered_)));
    }
    std::size_t index = delivered_;
    if (!settings_.inOrder) {
      if (early_.empty()) return;
      index = early_.front();
      early_.pop_front();
    } else if (!arrived_[index]) {
      return;
    }
    --outstanding_[makers_[index]];
    step();
  }
  void step() {
    trainer_ = Doing::kStepping;
    dispatch();
    Stages stages = stagesOf(
        alike(workload_.steps, workload_.ofSteps, delivered_, started() && delivered_ == 0));
    if (delivered_ == 0 && sentLate()) {
      std::rotate(stages.begin(), stages.end() - 1, stages.end());
      stages[0] = {std::min(settings_.firstSend, batch(workerCount()).cpu), 0};
    }
    begin(0, stages);
  }
  // The first worker has a second batch to make.
  [[nodiscard]] bool sentLate() const {
    return workerCount() > 0 && settings_.prefetch > 1 && length_ > workerCount();
  }
  void trainerDone() {
    if (trainer_ == Doing::kFetching) return step();
    if (trainer_ == Doing::kStarting) {
      const auto outstanding = static_cast<std::size_t>(std::max(1, settings_.prefetch));
      for (std::size_t i = 0; i < outstanding * workerCount() && sent_ < length_; ++i) dispatch();
      return fetch();
    }
    marks_.push_back(machine_.now());
    if (++delivered_ >= length_)
      trainer_ = Doing::kDone;
    else
      fetch();
  }

  const Workload& workload_;
  const PipelineSettings& settings_;
  const Draw& draw_;
  Machine machine_;
  std::vector<Actor> actors_;
  std::size_t first_ = 0, length_ = 0, sent_ = 0, delivered_ = 0, cycle_ = 0;
  std::vector<bool> arrived_;
  std::vector<std::size_t> makers_;
  std::deque<std::size_t> early_;  // arrived and not delivered; read only when order is free
  std::vector<int> outstanding_;
  Doing trainer_ = Doing::kStarting;
  std::vector<double> marks_;
};

double slope(const std::vector<double>& marks, std::size_t from) {
  if (marks.size() < 2) return marks.empty() ? 0 : marks[0];
  from = std::min(from, marks.size() - 2);
  return (marks.back() - marks[from]) / static_cast<double>(marks.size() - 1 - from);
}

// A worker that holds a lock does there what it does without: as much of it becomes less.
double lockedWith(const Workload& w, const PipelineSettings& s) {
  if (w.locked <= 0 || s.workers < 1) return 0;
  double all = 0, left = 0;
  for (const BatchDemand& batch : w.batches) {
    const BatchDemand then = scaled(batch, s);
    all += batch.io + batch.blocked + batch.cpu;
    left += then.io + then.blocked + then.cpu;
  }
  return w.locked * s.lockedScale * (all > 0 ? left / all : 1);
}

// With evaluation as it was.
double trainingStep(const Workload& w, const PipelineSettings& s, const Draw& draw) {
  const double apart = w.apart + w.apartPeriodic * s.periodicScale;
  const double minimum = std::max(w.zipped * s.zippedScale, lockedWith(w, s));
  const double stepsPerEpoch = s.oneEpoch ? 0 : w.stepsPerEpoch;
  Pipeline pipeline(w, s, draw);
  const auto n = draw.size();
  if (stepsPerEpoch > 0 && stepsPerEpoch < static_cast<double>(n)) {
    // Whole epochs, each with its own start and its drained end.
    const auto length = static_cast<std::size_t>(std::max(1.0, std::round(stepsPerEpoch)));
    for (std::size_t first = 0; first + length <= n || first == 0; first += length)
      pipeline.playEpoch(first, length);
    const double all = pipeline.marks().back() / static_cast<double>(pipeline.marks().size());
    return apart + std::max(all, minimum);
  }
  pipeline.playEpoch(0, n);
  // Past the first fill of the queue, and at least a quarter in, the pace is steady.
  const auto fill = static_cast<std::size_t>(2 * std::max(1, s.workers) * std::max(1, s.prefetch));
  const double steady = slope(pipeline.marks(), std::max(n / 4, std::min(fill, n / 2)));
  if (stepsPerEpoch <= 0) return apart + std::max(steady, minimum);
  const double begin = pipeline.marks().back() - steady * static_cast<double>(n);
  return apart + std::max(steady + std::max(0.0, begin) / stepsPerEpoch, minimum);
}

// What of evaluation's start is saved, or is more.
double savedOfEvaluation(const Workload& w, const PipelineSettings& s) {
  const EvaluationDemand& e = w.evaluation;
  if (e.start <= 0) return 0;
  const double batch = scaled(w.meanBatch, s).alone();
  if (s.workers < 1) return e.start - e.batches * batch;
  // A loader's first start stays, and each first batch is awaited.
  if (s.persistent) return (1 - e.firstStart) * std::max(0.0, e.start - e.count * batch);
  return s.startup >= 0 && w.startup > 0 ? e.start * (1 - s.startup / w.startup) : 0;
}

}  // namespace

double simulate(const Workload& w, const PipelineSettings& s, const Draw& draw) {
  if (w.batches.empty() || w.steps.empty() || draw.empty()) return 0;
  return std::max(0.0, trainingStep(w, s, draw) - savedOfEvaluation(w, s));
}

Draw drawBlocks(std::size_t from, std::size_t steps, std::size_t block, std::uint64_t seed) {
  Draw draw;
  if (from == 0) return draw;
  block = std::clamp<std::size_t>(block, 1, from);
  while (draw.size() < steps) {
    const std::size_t begin = splitmix64(seed) % (from - block + 1);
    seed += kSplitmix64Step;
    for (std::size_t i = 0; i < block && draw.size() < steps; ++i)
      draw.push_back(static_cast<std::uint32_t>(begin + i));
  }
  return draw;
}

}  // namespace stallprof
