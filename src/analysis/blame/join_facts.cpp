// SPDX-License-Identifier: MIT
#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/blame/attribution.h"
#include "analysis/blame/loaders.h"
#include "base/add_members.h"

namespace stallprof {
namespace {

template <class T>
void append(std::vector<T>& all, std::vector<T>&& more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

// Adds each row of `more` to the one of the same key, or behind them all.
template <class T, class KeyOf, class Add>
void joinBy(std::vector<T>& all, std::vector<T>&& more, KeyOf keyOf, Add add) {
  std::map<decltype(keyOf(all.front())), std::size_t> places;
  for (std::size_t i = 0; i < all.size(); ++i) places.try_emplace(keyOf(all[i]), i);
  for (T& row : more) {
    const auto [at, isNew] = places.try_emplace(keyOf(row), all.size());
    if (isNew)
      all.push_back(std::move(row));
    else
      add(all[at->second], row);
  }
}

template <class T, class Amount>
void largestFirst(std::vector<T>& rows, Amount amount) {
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const T& a, const T& b) { return amount(a) > amount(b); });
}

void joinFunctions(const Trace& trace, std::vector<FunctionSamples>& all,
                   std::vector<FunctionSamples>&& part) {
  const auto keyOf = [&](const FunctionSamples& f) {
    const StackSeen &hot = trace.stack(f.hot), &user = trace.stack(f.user);
    return std::tuple(f.side, f.phase, hot.function, hot.file, user.function, user.file, user.line);
  };
  joinBy(all, std::move(part), keyOf, [](FunctionSamples& to, const FunctionSamples& from) {
    addMembers<&FunctionSamples::samples, &FunctionSamples::running, &FunctionSamples::ownPython,
               &FunctionSamples::lockWaits, &FunctionSamples::blockedInOwn,
               &FunctionSamples::whileIdle, &FunctionSamples::seconds>(to, from);
    to.processes = std::max(to.processes, from.processes);
  });
  largestFirst(all, [](const FunctionSamples& f) { return f.samples; });
}

void joinLines(const Trace& trace, std::vector<LoopLineSamples>& all,
               std::vector<LoopLineSamples>&& part) {
  const auto keyOf = [&](const LoopLineSamples& l) {
    const StackSeen& frame = trace.stack(l.frame);
    return std::tuple(frame.file, frame.function, frame.line);
  };
  joinBy(all, std::move(part), keyOf,
         [](LoopLineSamples& to, const LoopLineSamples& from) { to.samples.join(from.samples); });
}

void join(const Trace& trace, StackFacts& all, StackFacts&& part) {
  for (const auto samples :
       {&StackFacts::making, &StackFacts::makingRunning, &StackFacts::makingLocked,
        &StackFacts::makingVague, &StackFacts::step, &StackFacts::gap})
    (all.*samples).join(part.*samples);
  using F = StackFacts;
  addMembers<&F::modelTime, &F::inLongGaps, &F::ownPython, &F::gilKnown, &F::ownLockWaits,
             &F::stepLockWaits, &F::lockBeside, &F::lockProducers, &F::lockOthers, &F::openingFiles,
             &F::readingFiles, &F::trainerTime, &F::ranByClock, &F::ranBySamples, &F::waitsAfter,
             &F::drawing, &F::drawingAhead, &F::releasing, &F::fetchWaits, &F::compilations,
             &F::predicting, &F::predictions, &F::lockWaits>(all, part);
  for (const auto lock : {&F::lockOfData, &F::lockOfCompute})
    addMembers<&F::LockShare::samples, &F::LockShare::held>(all.*lock, part.*lock);
  for (const auto sum : {&F::trainer, &F::ownIdle, &F::lockWanted}) (all.*sum).join(part.*sum);
  for (std::size_t i = 0; i < all.overheads.size(); ++i) all.overheads[i] += part.overheads[i];
  all.lockThreads = std::max(all.lockThreads, part.lockThreads);
  joinFunctions(trace, all.lockHolders, std::move(part.lockHolders));
  joinFunctions(trace, all.functions, std::move(part.functions));
  joinLines(trace, all.lines, std::move(part.lines));
  append(all.collectives, std::move(part.collectives));
}

void join(DeviceIdle& all, const DeviceIdle& part) {
  addMembers<&DeviceIdle::extract, &DeviceIdle::transform, &DeviceIdle::load, &DeviceIdle::unknown,
             &DeviceIdle::copy, &DeviceIdle::sync, &DeviceIdle::launch, &DeviceIdle::host,
             &DeviceIdle::hostBridged, &DeviceIdle::comm, &DeviceIdle::checkpoint,
             &DeviceIdle::evaluation, &DeviceIdle::other>(all, part);
}

void join(DeviceBusy& all, const DeviceBusy& part) {
  addMembers<&DeviceBusy::traced, &DeviceBusy::kernels, &DeviceBusy::copies,
             &DeviceBusy::collectives, &DeviceBusy::works>(all, part);
  join(all.idle, part.idle);
}

void join(CallSite& all, const CallSite& part) {
  const double samples = all.all + part.all;
  if (all.hot == part.hot && all.user == part.user)
    all.samples += part.samples;
  else if (part.samples > all.samples)
    all = part;
  all.all = samples;
}

template <class Use>
void addUse(Use& all, const Use& part) {
  all.count += part.count;
  all.time += part.time;
}

void join(DeviceFacts& all, DeviceFacts&& part) {
  all.seen = all.seen || part.seen;
  all.timeline = all.timeline || part.timeline;
  addMembers<&DeviceFacts::traced, &DeviceFacts::tracedSteps, &DeviceFacts::covered,
             &DeviceFacts::longGaps, &DeviceFacts::kernelTime, &DeviceFacts::syncs,
             &DeviceFacts::syncTime>(all, part);
  addMembers<&StepSum::steps, &StepSum::time>(all.plain, part.plain);
  addMembers<&StepSum::steps, &StepSum::time>(all.tracedPlain, part.tracedPlain);
  joinBy(
      all.devices, std::move(part.devices), [](const DeviceBusy& d) { return d.device; },
      [](DeviceBusy& to, const DeviceBusy& from) { join(to, from); });
  largestFirst(all.devices, [](const DeviceBusy& d) { return d.busy(); });
  joinBy(
      all.kernels, std::move(part.kernels), [](const KernelUse& k) { return k.name; },
      [](KernelUse& to, const KernelUse& from) {
        addUse(to, from);
        to.filled += from.filled;
        to.filledOf += from.filledOf;
      });
  joinBy(
      all.copies, std::move(part.copies),
      [](const CopyUse& c) { return std::tuple(c.kind, c.memory); },
      [](CopyUse& to, const CopyUse& from) {
        addUse(to, from);
        if (from.bytes >= 0) to.bytes = std::max<std::int64_t>(0, to.bytes) + from.bytes;
      });
  joinBy(
      all.calls, std::move(part.calls), [](const CallUse& c) { return std::tuple(c.name, c.kind); },
      [](CallUse& to, const CallUse& from) { addUse(to, from); });
  const auto time = [](const auto& use) { return use.time; };
  largestFirst(all.kernels, time);
  largestFirst(all.copies, time);
  largestFirst(all.calls, time);
  join(all.syncSite, part.syncSite);
  join(all.copySite, part.copySite);
}

// An evaluation lies in one part: no part ends in it. One iterator may serve several.
void joinEpochs(std::vector<Epoch>& all, std::vector<Epoch>&& part) {
  joinBy(
      all, std::move(part),
      [](const Epoch& p) { return std::pair(p.epoch, p.evaluation ? p.begin : Nanos{}); },
      [](Epoch& to, const Epoch& from) {
        to.end = std::max(to.end, from.end);
        to.whole = from.whole;
        to.stopped += from.stopped;
        to.steps += from.steps;
        to.wait += from.wait;
      });
}

}  // namespace

void StepsJoined::add(const Step& step) {
  ++steps;
  split += step.split;
  blame += step.blame;
  if (step.ready > 0) behindReady += std::max(Nanos{}, step.split.wait - step.blame.startup);
  if (step.boundary) return;
  ++plain;
  plainSplit += step.split;
  plainBlame += step.blame;
  plainTime += step.end - step.begin;
}

void StepsJoined::add(const BatchWork& work) {
  ++works;
  making += std::max(Nanos{}, work.end + work.put - work.begin);
  if (work.worker >= 0) makingCpu += work.cpu;
}

void join(const Trace& trace, TrainerFacts& all, TrainerFacts&& part) {
  const double steps = static_cast<double>(all.stepCount());
  const double more = static_cast<double>(part.stepCount());
  if (steps + more > 0)
    all.readCpuShare = (all.readCpuShare * steps + part.readCpuShare * more) / (steps + more);
  if (all.loader < 0 || part.loader >= 0) all.loader = part.loader;
  all.windowEnd = part.windowEnd;
  addMembers<&TrainerFacts::stopped, &TrainerFacts::split, &TrainerFacts::blame, &TrainerFacts::cpu,
             &TrainerFacts::starved, &TrainerFacts::optimizerSteps>(all, part);
  all.sureSteps = all.sureSteps && part.sureSteps;
  append(all.steps, std::move(part.steps));
  append(all.works, std::move(part.works));
  for (const auto& [loader, count] : part.batches) all.batches[loader] += count;
  joinBy(
      all.zipped, std::move(part.zipped),
      [&](const ZippedLoader& z) { return zippedKey(trace, z); }, addZipped);
  all.slowSamples.add(part.slowSamples);
  addMembers<&WorkerLock::watched, &WorkerLock::making, &WorkerLock::waited, &WorkerLock::named,
             &WorkerLock::every, &WorkerLock::byChance, &WorkerLock::busy, &WorkerLock::samples>(
      all.workerLock, part.workerLock);
  joinEpochs(all.epochs, std::move(part.epochs));
  append(all.evaluations, std::move(part.evaluations));
  joinBy(
      all.workers, std::move(part.workers), [](const WorkerFacts& w) { return w.process; },
      [](WorkerFacts&, const WorkerFacts&) {});  // measured by measureCounters
  for (const ThreadId thread : part.threads)
    if (std::find(all.threads.begin(), all.threads.end(), thread) == all.threads.end())
      all.threads.push_back(thread);
  join(trace, all.stacks, std::move(part.stacks));
  join(all.device, std::move(part.device));
}

}  // namespace stallprof
