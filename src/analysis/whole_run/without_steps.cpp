// SPDX-License-Identifier: MIT
#include "analysis/whole_run/without_steps.h"

#include "analysis/blame/attribution.h"
#include "analysis/blame/samples/producer_threads.h"
#include "analysis/blame/samples/stacks.h"
#include "analysis/steps/loops/loop_lines.h"
#include "analysis/steps/stopped.h"
#include "analysis/steps/training_thread.h"

namespace stallprof {

TrainerFacts attributeWithoutSteps(const Trace& trace, const StackLabels& labels) {
  TrainerFacts facts;
  facts.windowBegin = trace.begin;
  facts.windowEnd = trace.end;
  TrainerTimeline nobody;
  nobody.who.thread = trainingThread(trace, labels);
  if (nobody.who.thread.none()) return facts;
  const ThreadLife& thread = trace.thread(nobody.who.thread);
  nobody.who.process = thread.process;
  facts.process = thread.process;
  facts.thread = thread.id;
  if (const Maybe<MainLoop> loop = findMainLoop(trace, thread, labels)) {
    facts.loopAt = loop->place;
    facts.windowBegin = std::max(trace.begin, loop->window.begin);
    facts.windowEnd = std::min(trace.end, loop->window.end);
  }
  facts.stopped = lengthIn(stoppedTimes(trace, nobody), facts.windowInterval());
  ProducerThreads threads =
      findProducerThreads(trace, labels, nobody, facts.windowBegin, facts.windowEnd);
  facts.stacks =
      gatherStacks(trace, labels, nobody, {}, facts.windowBegin, facts.windowEnd, threads);
  facts.threads = std::move(threads.threads);
  if (facts.stacks.seen()) facts.split.other = facts.window();
  const Observed observed = observe(thread, facts.windowInterval());
  facts.cpu = observed.run;
  facts.starved = observed.queued;
  measureCounters(trace, facts);
  return facts;
}

}  // namespace stallprof
