// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>

#include "analysis/steps/timeline.h"
#include "base/units.h"
#include "classify/waits.h"
#include "present/html/picture/picture.h"

namespace stallprof {
namespace {

constexpr std::size_t kMaxLanes = 16;
constexpr std::size_t kMaxBlocks = 240;  // a lane of 1,000 pixels has no room for more
constexpr Nanos::rep kFurthest = 4;      // steps shown before the one meant, at most

struct Shown {
  Nanos from{}, to{};
};

// Adds what of a block lies in the view, while there is room.
void add(Lane& lane, const Shown& shown, Block block) {
  block.begin = std::max(block.begin, shown.from);
  block.end = std::min(block.end, shown.to);
  if (block.begin < block.end && lane.blocks.size() < kMaxBlocks)
    lane.blocks.push_back(std::move(block));
}

// The same lane with no block over another: what lies later in the list covers what lies before.
void flatten(Lane& lane) {
  std::vector<Block> flat;
  for (Block& top : lane.blocks) {
    std::vector<Block> kept;
    for (Block& below : flat) {
      if (below.begin < top.begin) {
        kept.push_back(below);
        kept.back().end = std::min(below.end, top.begin);
      }
      if (below.end > top.end) {
        kept.push_back(below);
        kept.back().begin = std::max(below.begin, top.end);
      }
    }
    kept.push_back(std::move(top));
    flat = std::move(kept);
  }
  std::sort(flat.begin(), flat.end(),
            [](const Block& a, const Block& b) { return a.begin < b.begin; });
  lane.blocks.clear();
  for (Block& block : flat) {
    Block* last = lane.blocks.empty() ? nullptr : &lane.blocks.back();
    if (last != nullptr && last->end == block.begin && last->hue == block.hue &&
        last->name == block.name)
      last->end = block.end;
    else
      lane.blocks.push_back(std::move(block));
  }
}

std::string batchName(std::int64_t batch) {
  return batch < 0 ? "batch" : "batch " + std::to_string(batch);
}

// A batch as it is made on `thread`: its CPU is transform, and extract where the samples found the
// thread blocked in a file or socket for most of the time.
void addMaking(Lane& lane, const Shown& shown, const ThreadLife& thread, const Block& making) {
  add(lane, shown, making);
  auto slice = std::upper_bound(thread.slices.begin(), thread.slices.end(), making.begin,
                                [](Nanos t, const Timed<ThreadSlice>& s) { return t < s.end(); });
  for (; slice != thread.slices.end() && slice->at < making.end; ++slice) {
    const ThreadSlice& s = slice->data;
    if (producerWait(s.wait).phase != Phase::kExtract || (s.run + s.queued) * 2 > s.duration)
      continue;
    add(lane, shown,
        {std::max(slice->at, making.begin), std::min(slice->end(), making.end), Hue::kExtract,
         "reads for " + making.name.substr(making.name.find(' ') + 1), making.awaited});
  }
}

void addSteps(Lane& lane, const Shown& shown, const TrainerFacts& trainer) {
  auto step = std::upper_bound(trainer.steps.begin(), trainer.steps.end(), shown.from,
                               [](Nanos t, const Step& s) { return t < s.end; });
  for (; step != trainer.steps.end() && step->begin < shown.to; ++step)
    add(lane, shown, {step->begin, step->end, Hue::kCompute, "compute", false});
}

void addFetches(Lane& lane, const Shown& shown, const TrainerTimeline& line) {
  for (std::size_t i = 0; i < line.fetches.size(); ++i) {
    const Timed<Fetch>& fetch = *line.fetches[i];
    if (fetch.end() <= shown.from || fetch.at >= shown.to) continue;
    const bool workers = line.epochs[line.epochOf[i]].hasWorkers;
    const Nanos own =
        workers ? std::clamp(fetch.data.cpu, Nanos(0), fetch.data.duration) : Nanos(0);
    const bool closing = fetch.data.end && workers;
    const std::string name = closing ? "workers stop" : batchName(fetch.data.batch);
    const Nanos turn = closing ? fetch.at : fetch.end() - own;
    add(lane, shown, {fetch.at, turn, Hue::kWait, "waits for " + name, false});
    add(lane, shown, {turn, fetch.end(), Hue::kLoad, "receives " + name, false});
  }
}

Lane trainerLane(const Trace& trace, const Shown& shown, const TrainerFacts& trainer,
                 const TrainerTimeline& line) {
  Lane lane{"trainer", "", {}};
  addSteps(lane, shown, trainer);
  for (const EpochSpan& epoch : line.epochs)
    add(lane, shown,
        {epoch.iterator, epoch.iteratorEnd, Hue::kLoad, "creates the iterator", false});
  addFetches(lane, shown, line);
  for (const Epoch& epoch : trainer.epochs)
    if (epoch.evaluation)
      add(lane, shown, {epoch.begin, epoch.end, Hue::kPeriodic, "evaluation", false});
  for (const Timed<OptimizerStep>* step : line.updates)
    add(lane, shown, {step->at, step->end(), Hue::kCompute, "optimizer step", false});
  for (const Timed<PhaseSpan>* span : line.spans)
    add(lane, shown,
        {span->at, span->end(), hueOf(span->data.phase), std::string(trace.text(span->data.name)),
         false});
  return lane;
}

// The trainer makes its batches itself: the same fetches once more, by what they were spent on.
Lane ownFetches(const Trace& trace, const Shown& shown, const TrainerTimeline& line) {
  Lane lane{"its fetches", "", {}};
  for (const Timed<Fetch>* fetch : line.fetches)
    if (!fetch->data.end && fetch->end() > shown.from && fetch->at < shown.to)
      addMaking(lane, shown, trace.thread(line.who.thread),
                {fetch->at, fetch->end(), Hue::kTransform, "makes " + batchName(fetch->data.batch),
                 false});
  return lane;
}

void addTask(Lane& lane, const Shown& shown, const Trace& trace, const Timed<WorkerTask>& task,
             const BatchWork* awaited) {
  const Nanos begin = task.at + task.data.fetchBegin, end = task.at + task.data.fetchEnd;
  const bool mine = awaited != nullptr && awaited->begin == begin &&
                    awaited->batch == task.data.batch && awaited->worker == task.data.worker;
  addMaking(lane, shown, trace.thread(task.data.thread),
            {begin, end, Hue::kTransform, "makes " + batchName(task.data.batch), mine});
  add(lane, shown,
      {end, task.at + task.data.putEnd, Hue::kLoad, "sends " + batchName(task.data.batch), mine});
}

void addWorkers(const Trace& trace, const TrainerFacts& trainer, const Shown& shown,
                const BatchWork* awaited, StepView& view) {
  std::map<ProcessId, std::int32_t> numbers;
  for (const WorkerFacts& worker : trainer.workers) numbers[worker.process] = worker.worker;
  std::map<std::int32_t, Lane> lanes;
  const auto laneOf = [&](ThreadId thread) -> Lane* {
    const auto number = numbers.find(trace.thread(thread).process);
    if (number == numbers.end()) return nullptr;
    Lane& lane = lanes[number->second];
    lane.name = "worker " + std::to_string(number->second);
    return &lane;
  };
  for (const auto& row : trace.workers) {
    const Nanos seen = trace.process(trace.thread(row.data.thread).process).seen;
    if (row.at <= shown.from || seen >= shown.to) continue;
    if (Lane* lane = laneOf(row.data.thread))
      add(*lane, shown, {seen, row.at, Hue::kLoad, "starts", false});
  }
  for (const auto& row : trace.tasks) {
    if (row.at + row.data.putEnd <= shown.from || row.at >= shown.to) continue;
    if (Lane* lane = laneOf(row.data.thread)) addTask(*lane, shown, trace, row, awaited);
  }
  for (auto& [number, lane] : lanes) {
    if (view.lanes.size() <= kMaxLanes)
      view.lanes.push_back(std::move(lane));
    else
      ++view.hiddenLanes;
  }
}

const BatchWork* workOf(const TrainerFacts& trainer, const Step& step) {
  for (const BatchWork& work : trainer.works)
    if (work.epoch == step.epoch && work.batch == step.batch && step.batch >= 0) return &work;
  return nullptr;
}

}  // namespace

StepView drawStep(const Trace& trace, const TrainerFacts& trainer, std::size_t index) {
  const Step& step = trainer.steps[index];
  StepView view;
  view.index = step.number;
  view.begin = step.begin;
  view.end = step.end;
  view.split = step.split;
  const Nanos length = step.end - step.begin, margin = length / 12;
  const BatchWork* work = trainer.workers.empty() ? nullptr : workOf(trainer, step);
  Nanos from = step.begin - margin;
  if (work != nullptr) {
    from = std::max(std::min(from, work->begin - margin), step.begin - kFurthest * length);
    if (work->begin < from)
      view.note = "Its batch was started " + durationText(step.begin - work->begin) +
                  " before the step, before the displayed range.";
  }
  view.from = from;
  view.to = step.end + margin;
  const Shown shown{view.from, view.to};
  const TrainerTimeline line = readTimeline(trace, {trainer.process, trainer.thread});
  view.lanes.push_back(trainerLane(trace, shown, trainer, line));
  if (!trainer.workers.empty())
    addWorkers(trace, trainer, shown, work, view);
  else if (trainer.loader >= 0)
    view.lanes.push_back(ownFetches(trace, shown, line));
  for (Lane& lane : view.lanes) flatten(lane);
  for (Lane& lane : deviceLanes(trace, trainer, view.from, view.to))
    view.lanes.push_back(std::move(lane));
  return view;
}

}  // namespace stallprof
