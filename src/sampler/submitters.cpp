// SPDX-License-Identifier: MIT
#include "sampler/submitters.h"

#include <algorithm>

namespace stallprof {
namespace {

// A sample is joined with a look at most this much away from it. Functions that take turns each few
// milliseconds are told apart only so: at 50 ms a fifth of a function's samples were its
// neighbours'.
constexpr Nanos kNear = std::chrono::milliseconds(2);
// Files a thread ran in this long ago tell what it runs in. It spins and copies in others between
// two samples of the region that it shares with its pool: at 99 a second these are 25 samples.
constexpr Nanos kLately = std::chrono::milliseconds(250);
constexpr std::size_t kMostThreads = 65536;
constexpr int kMostMakers = 4;  // pools that make pools: oneTBB's and Arrow's are two deep

Nanos distance(Nanos a, Nanos b) { return a > b ? a - b : b - a; }

StackId nearer(const python::StackAt& last, const python::StackAt& before, Nanos at) {
  const Nanos toLast = distance(last.at, at), toBefore = distance(before.at, at);
  if (std::min(toLast, toBefore) > kNear) return {};
  return toLast <= toBefore ? last.stack : before.stack;
}

}  // namespace

StackId stackRun(const PythonSampler::LastLook& looks, Nanos at) {
  return nearer(looks.ran, looks.ranBefore, at);
}

Submitters::Thread& Submitters::threadOf(std::uint32_t tid) {
  if (threads_.size() >= kMostThreads && !threads_.contains(tid)) threads_.clear();
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

std::pair<std::uint32_t, PythonSampler::LastLook> Submitters::submitterOf(
    const PerfRecord& sample) const {
  std::uint32_t tid = sample.tid;
  for (int i = 0; i < kMostMakers; ++i) {
    const auto thread = threads_.find(tid);
    if (thread == threads_.end() || thread->second.maker == 0) break;
    tid = thread->second.maker;
    if (const auto looks = looks_(sample.pid, tid); looks.at > Nanos{}) return {tid, looks};
  }
  const std::uint32_t first = sample.pid;
  if (first == sample.tid) return {};
  const auto looks = looks_(sample.pid, first);
  return looks.at > Nanos{} ? std::pair(first, looks) : std::pair(0u, looks);
}

StackId Submitters::stackOf(const PerfRecord& sample, StringId file) const {
  const auto [who, looks] = submitterOf(sample);
  if (who == 0) return {};
  if (!looks.delegates) return {};
  if (!looks.blocked && !ranIn(who, file, sample.at)) return {};
  // Between two looks that saw the same it was there, too.
  if (sample.at >= looks.sameSince && sample.at <= looks.at) return looks.stack;
  return nearer({looks.at, looks.stack}, {looks.beforeAt, looks.before}, sample.at);
}

}  // namespace stallprof
