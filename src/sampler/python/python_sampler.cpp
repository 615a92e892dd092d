// SPDX-License-Identifier: MIT
#include "sampler/python/python_sampler.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "sampler/proc/proc_file.h"

namespace stallprof {

PythonSampler::PythonSampler(std::string root, const ProcessTree& tree)
    : tree_(tree), shared_(std::move(root)) {
  shared_.report = [this](Coverage state, const std::string& why) { state_ = {state, why}; };
}

bool PythonSampler::sample(const ThreadSample& sample) {
  Watched& watched = processes_[sample.pid];
  if (watched.samples.empty()) touched_.push_back(&watched);
  watched.samples.push_back(sample);
  return !watched.process || !watched.process->isPython() || watched.process->knows(sample.tid);
}

PythonSampler::LastSample PythonSampler::lastSample(std::uint32_t pid, std::uint32_t tid) const {
  const auto found = processes_.find(pid);
  if (found == processes_.end() || !found->second.process) return {};
  return found->second.process->lastSample(tid);
}

// Forgets the processes that are gone.
void PythonSampler::follow(EventOut& out) {
  std::unordered_set<std::uint32_t> alive;
  for (const LiveProcess& process : tree_.processes()) alive.insert(process.pid);
  for (auto entry = processes_.begin(); entry != processes_.end();) {
    if (alive.contains(entry->first)) {
      ++entry;
      continue;
    }
    if (entry->second.process) entry->second.process->flush(out);
    entry = processes_.erase(entry);
  }
}

// The Python of a process; of another one when its pid has been taken by another life.
python::PythonProcess& PythonSampler::processOf(Watched& watched, EventOut& out) {
  const ThreadSample& sample = watched.samples.front();
  if (watched.process && watched.id == sample.process) return *watched.process;
  if (watched.process) watched.process->flush(out);
  watched.id = sample.process;
  watched.process = std::make_unique<python::PythonProcess>(sample.pid, shared_);
  watched.process->setStride(stride_.stride());
  return *watched.process;
}

void PythonSampler::endRound(Nanos now, const Pace& pace, EventOut& out) {
  pace_ = pace;
  if (!touched_.empty()) {
    const Nanos begin = threadCpu() - shared_.unpaced;
    for (Watched* watched : touched_) {
      const python::PythonProcess& process = processOf(*watched, out);
      watched->process->round(watched->samples, now, out);
      watched->samples.clear();
      if (!seen_ && process.isPython()) {
        seen_ = true;
        if (state_.second.empty()) state_ = {Coverage::kFull, ""};
      }
    }
    touched_.clear();
    spent_ += threadCpu() - shared_.unpaced - begin;
  }
  if (state_ != reported_) report(now, out);
  if (now - second_ >= kOneSecond) eachSecond(now, out);
}

void PythonSampler::report(Nanos now, EventOut& out) {
  reported_ = state_;
  emitSource(out, now, "python_stacks", state_.first, state_.second);
}

void PythonSampler::eachSecond(Nanos now, EventOut& out) {
  const double spent = seconds(std::exchange(spent_, Nanos{})) / seconds(now - second_);
  second_ = now;
  follow(out);
  std::size_t emitted = 0;
  std::uint64_t skipped = 0;
  for (auto& [pid, watched] : processes_) {
    if (!watched.process) continue;
    emitted += watched.process->takeEmitted();
    skipped += watched.process->takeSkipped();
    watched.process->check();
  }
  stride_.update(pace_.share, spent, emitted, pace_.between() > pace_.asked);
  for (auto& [pid, watched] : processes_)
    if (watched.process) watched.process->setStride(stride_.stride());
  if (skipped > 0) out.emit(now, Loss{LossKind::kStacksSkipped, skipped, {}});
  if (shared_.torn > 0)
    out.emit(now, Loss{LossKind::kStacksTorn, std::exchange(shared_.torn, 0), {}});
  if (const std::uint64_t full = shared_.tree.takeFull(); full > 0)
    out.emit(now, Loss{LossKind::kStacksFull, full, {}});
}

void PythonSampler::finish(Nanos now, EventOut& out) {
  endRound(now, pace_, out);
  for (auto& [pid, watched] : processes_)
    if (watched.process) watched.process->flush(out);
  eachSecond(now, out);
  if (!seen_ && reported_.second.empty()) {
    state_ = {Coverage::kAbsent, "no Python program was seen"};
    if (shared_.unread != 0)
      state_.second = python::unreadText(shared_.unread);
    else if (shared_.refused != 0)
      state_.second = "a process of the job is not ours to read (" + errnoText(shared_.refused) +
                      "): whether it ran Python is not known; stallprof as root would see it";
    report(now, out);
  }
}

}  // namespace stallprof
