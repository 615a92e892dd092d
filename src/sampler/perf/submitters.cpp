// SPDX-License-Identifier: MIT
#include "sampler/perf/submitters.h"

#include <algorithm>

namespace stallprof {
namespace {

// A native sample is joined with a sample of the thread at most this much away from it. Functions
// that take turns each few milliseconds are distinguished only so: at 50 ms a fifth of a function's
// samples were its neighbours'.
constexpr Nanos kNear = std::chrono::milliseconds(2);
// Files a thread ran in this long ago show what it runs in. It spins and copies in others between
// two samples of the region that it shares with its pool: at 99 a second these are 25 samples.
constexpr Nanos kLately = std::chrono::milliseconds(250);
constexpr std::size_t kMaxSubmitters = 65536;
constexpr int kMaxMakers = 4;  // pools that make pools: oneTBB's and Arrow's are two deep

Nanos distance(Nanos a, Nanos b) { return a > b ? a - b : b - a; }

StackId nearer(const python::StackAt& last, const python::StackAt& before, Nanos at) {
  const Nanos toLast = distance(last.at, at), toBefore = distance(before.at, at);
  if (std::min(toLast, toBefore) > kNear) return {};
  return toLast <= toBefore ? last.stack : before.stack;
}

}  // namespace

StackId stackRun(const PythonSampler::LastSample& samples, Nanos at) {
  return nearer(samples.ran, samples.ranBefore, at);
}

Submitters::Thread& Submitters::threadOf(std::uint32_t tid) {
  if (threads_.size() >= kMaxSubmitters && !threads_.contains(tid)) threads_.clear();
  return threads_[tid];
}

void Submitters::take(const PerfRecord& record) {
  if (record.kind == PerfRecord::Kind::kExit) threads_.erase(record.tid);
  if (record.kind != PerfRecord::Kind::kFork) return;
  threads_.erase(record.tid);
  if (record.pid == record.parentPid) threadOf(record.tid).maker = record.parentTid;
}

void Submitters::ran(std::uint32_t tid, StringId file, Nanos at) {
  if (file.none()) return;
  auto& ran = threadOf(tid).ran;
  auto slot = std::find_if(ran.begin(), ran.end(), [&](const Ran& r) { return r.file == file; });
  if (slot == ran.end())
    slot = std::min_element(ran.begin(), ran.end(),
                            [](const Ran& a, const Ran& b) { return a.at < b.at; });
  *slot = {file, at};
}

bool Submitters::ranIn(std::uint32_t tid, StringId file, Nanos at) const {
  const auto found = threads_.find(tid);
  if (found == threads_.end() || file.none()) return false;
  return std::any_of(found->second.ran.begin(), found->second.ran.end(),
                     [&](const Ran& r) { return r.file == file && distance(r.at, at) <= kLately; });
}

std::pair<std::uint32_t, PythonSampler::LastSample> Submitters::submitterOf(
    const PerfRecord& sample) const {
  std::uint32_t tid = sample.tid;
  for (int i = 0; i < kMaxMakers; ++i) {
    const auto thread = threads_.find(tid);
    if (thread == threads_.end() || thread->second.maker == 0) break;
    tid = thread->second.maker;
    if (const auto samples = samples_(sample.pid, tid); samples.at > Nanos{}) return {tid, samples};
  }
  const std::uint32_t first = sample.pid;
  if (first == sample.tid) return {};
  const auto samples = samples_(sample.pid, first);
  return samples.at > Nanos{} ? std::pair(first, samples) : std::pair(0u, samples);
}

StackId Submitters::stackOf(const PerfRecord& sample, StringId file) const {
  const auto [who, samples] = submitterOf(sample);
  if (who == 0) return {};
  if (!samples.delegates) return {};
  if (!samples.blocked && !ranIn(who, file, sample.at)) return {};
  // Between two samples that saw the same it was there, too.
  if (sample.at >= samples.sameSince && sample.at <= samples.at) return samples.stack;
  return nearer({samples.at, samples.stack}, {samples.beforeAt, samples.before}, sample.at);
}

}  // namespace stallprof
