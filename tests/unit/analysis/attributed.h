// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/analyze.h"
#include "analysis/blame/facts_accumulator.h"
#include "tests/unit/analysis/text_trace.h"

// What is known of a trainer, as `attribute` concludes it; its sums are checked each time.
namespace stallprof::test {

inline void checkSplit(const Split& s, const Blame& b, Nanos length) {
  CHECK(s.total() == length);
  CHECK(b.total() == s.wait);
  CHECK(s.hidden <= s.compute);
  CHECK(s.copy <= s.load);
  for (const Nanos part : {s.compute, s.wait, s.load, s.sync, s.comm, s.periodic, s.other, s.hidden,
                           s.copy, b.extract, b.transform, b.load, b.startup, b.unknown})
    CHECK(part >= Nanos::zero());
}

inline void checkSums(const TrainerFacts& facts) {
  Nanos done = Nanos::min(), stopped{};
  for (const Step& step : facts.steps) {
    CHECK(step.begin >= done);
    const Nanos inStep = facts.stopped > Nanos{} ? step.length() - step.split.total() : Nanos{};
    CHECK(inStep >= Nanos{});
    checkSplit(step.split, step.blame, step.length() - inStep);
    stopped += inStep;
    done = step.end;
  }
  CHECK(stopped <= facts.stopped);
  checkSplit(facts.split, facts.blame, facts.window());
  for (const DeviceBusy& d : facts.device.devices) {
    CHECK(d.busy() + d.idle.total() == d.traced);
    for (const Nanos part :
         {d.kernels, d.copies, d.collectives, d.idle.extract, d.idle.transform, d.idle.load,
          d.idle.unknown, d.idle.copy, d.idle.sync, d.idle.launch, d.idle.host, d.idle.comm,
          d.idle.checkpoint, d.idle.evaluation, d.idle.other})
      CHECK(part >= Nanos::zero());
  }
  CHECK(facts.warmup <= facts.steps.size());
  for (const BatchWork& work : facts.works)
    for (const Nanos part : {work.extract, work.queued, work.blocked, work.put, work.cpu})
      CHECK(part >= Nanos::zero());
}

inline TrainerFacts factsOf(const Trace& trace, std::uint32_t process = 1,
                            std::uint32_t thread = 1) {
  TrainerFacts facts = attribute(trace, {ProcessId{process}, ThreadId{thread}});
  checkSums(facts);
  return facts;
}

// Of the trainer of `kTrainer`, and what `text` adds to it.
inline TrainerFacts factsOf(const std::string& text) { return factsOf(traceOf(kTrainer + text)); }

// The hook's events of 20 steps of 100 ms from 1 s on, without workers: 20 ms of fetch, then
// compute, an update of the model at its end.
inline const std::string kTwentyFetches =
    "repeat 20 every 100ms\n"
    "1000ms fetch thread=1 loader=1 epoch=1 duration=20ms cpu=20ms batch=0+1*i\n"
    "1090ms optimizer thread=1 duration=5ms optimizer=1\n"
    "end\n"
    "3000ms fetch thread=1 loader=1 epoch=1 duration=1ms end=1\n";

}  // namespace stallprof::test
