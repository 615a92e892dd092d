// SPDX-License-Identifier: MIT
#include "sampler/perf/native_sampler.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "sampler/proc/proc_file.h"

namespace stallprof {
namespace {

// While nothing of the job runs; and at most, however slow the pace: a ring holds 500 ms of
// samples. How often new threads are searched for, where each has an event of its own.
constexpr Nanos kFollowEvery = std::chrono::milliseconds(50);
constexpr Nanos kCalm = std::chrono::milliseconds(40), kLongest = std::chrono::milliseconds(250);
// Reading maps holds up the process's own mapping calls for some 100 us.
constexpr Nanos kMapsEvery = std::chrono::seconds(1);
constexpr std::size_t kMapsFileBytes = 16u << 20, kMaxSampledThreads = 65536;

}  // namespace

NativeSampler::NativeSampler(std::string root, ProcessTree& tree, const PythonSampler* stacks)
    : root_(std::move(root)),
      tree_(tree),
      stacks_(stacks),
      jit_(root_),
      callers_(root_),
      submitters_([stacks](std::uint32_t pid, std::uint32_t tid) {
        return stacks == nullptr ? PythonSampler::LastSample{} : stacks->lastSample(pid, tid);
      }) {}

bool NativeSampler::open(pid_t command) {
  started_ = realtimeNow();
  return samples_.open(command, pace_);
}

// As often as threads are sampled, together with which it is called: a sample then lies between
// the two samples that may name its Python frame.
Nanos NativeSampler::period() const {
  if (!samples_.opened() || stopped_) return kOneSecond;
  return std::min(drained_.empty() ? std::max(pace_, kCalm) : pace_, kLongest);
}

void NativeSampler::setPace(const Pace& pace) { pace_ = pace.period; }

void NativeSampler::pause() {
  if (samples_.opened() && !stopped_) samples_.enable(false);
}

// Births, deaths and mappings of the pause were not seen: numbers may be others', and the files of
// an address that is not known are read again (placeOf).
void NativeSampler::resume(Nanos, Nanos paused) {
  if (!samples_.opened() || stopped_) return;
  threads_.clear();
  callers_.forget();
  second_ += paused;
  samples_.enable(true);
}

void NativeSampler::report(Nanos now, EventOut& out) {
  reported_ = true;
  if (!leftOut_.empty())
    emitSource(out, now, "native_samples", Coverage::kAbsent, leftOut_);
  else
    emitSource(out, now, "native_samples", samples_.state(), samples_.why());
}

void NativeSampler::sample(Nanos now, EventOut& out) {
  if (!reported_) report(now, out);
  if (!samples_.opened()) return;
  drain(now, out, false);
  places_.flush(now, out, false);
  if (now - second_ >= kOneSecond) eachSecond(now, out);
}

void NativeSampler::finish(Nanos now, EventOut& out) {
  if (!reported_) report(now, out);
  if (!samples_.opened()) return;
  drain(now, out, true);
  places_.flush(now, out, true);
  eachSecond(now, out);
}

void NativeSampler::namePlaces(Nanos now, EventOut& out) const {
  places_.names().emit(now, started_, !interpreted_, out);
}

void NativeSampler::drain(Nanos now, EventOut& out, bool all) {
  drained_.clear();
  if (samples_.eachThread() && now >= nextFollow_) followThreads(now, out);
  samples_.drain(drained_, all);
  for (const PerfRecord& record : drained_) take(record, now, out);
}

void NativeSampler::followThreads(Nanos now, EventOut& out) {
  nextFollow_ = now + kFollowEvery;
  std::vector<pid_t> threads;
  for (const LiveProcess& process : tree_.processes())
    for (const LiveThread& thread : process.threads)
      threads.push_back(static_cast<pid_t>(thread.tid));
  if (!samples_.follow(threads, drained_) && !std::exchange(incomplete_, true))
    emitSource(out, now, "native_samples", Coverage::kPartial,
               "an event a thread, and not for all: some were refused, or are past the first " +
                   std::to_string(samples_.threadLimit()));
}

void NativeSampler::take(const PerfRecord& record, Nanos now, EventOut& out) {
  switch (record.kind) {
    case PerfRecord::Kind::kSample:
      return takeSample(record, now, out);
    case PerfRecord::Kind::kFork:
      ++births_;
      break;
    case PerfRecord::Kind::kExit:
      threads_.erase(record.tid);
      break;
    default:
      break;
  }
  if (record.kind == PerfRecord::Kind::kMap && record.build.empty() &&
      record.path.starts_with('/') && isAnother(record.pid, record.path, record.inode)) {
    PerfRecord other = record;
    other.build = NativeMaps::kAnotherFile;
    maps_.take(other, out);
  } else {
    maps_.take(record, out);
  }
  callers_.take(record);
  jit_.take(record);
  submitters_.take(record);
}

// A task on its way out has no number any more: its last samples are nobody's.
void NativeSampler::takeSample(const PerfRecord& record, Nanos now, EventOut& out) {
  constexpr std::uint32_t kNobody = ~0u;
  if (record.pid == 0 || record.tid == 0 || record.pid == kNobody || record.tid == kNobody) return;
  const NativeMaps::Place place = placeOf(record, now, out);
  Thread& thread = threadOf(record, now);
  if (thread.id.none()) return;
  places_.add(thread.id, stackAt(thread, record, place), place, now,
              callerOf(thread, record, place, now, out));
}

// Of programs without an interpreter: where there is one, its stacks say who called. What a system
// call does says its name; a page fault is for the code that touched the page.
NativeMaps::Place NativeSampler::callerOf(const Thread& thread, const PerfRecord& record,
                                          const NativeMaps::Place& place, Nanos now,
                                          EventOut& out) {
  if (thread.samples.at > Nanos{}) return {};
  if (record.kernel && place.function != out.intern(kPageFault)) return {};
  if (stacks_ != nullptr && stacks_->lastSample(record.pid, record.pid).at > Nanos{}) return {};
  const NativeMaps::Place user =
      record.kernel ? mappedAt(record.pid, record.userAddress, now, out) : place;
  return user.file.none() ? user : callers_.callerOf(record, user, maps_, out);
}

NativeMaps::Place NativeSampler::placeOf(const PerfRecord& record, Nanos now, EventOut& out) {
  if (record.kernel) {
    const NativeMaps::Place back = mappedAt(record.pid, record.userAddress, now, out);
    const StringId call = calls_.nameOf(record.pid, record.userAddress, back, out);
    return {out.intern("[kernel]"), {}, 0, call, false};
  }
  NativeMaps::Place place = mappedAt(record.pid, record.address, now, out);
  if (!place.madeAtRunTime) return place;
  if (spins_.at(record.pid, record.address))
    return {out.intern("[jit]"), {}, record.address, out.intern(kSpinLoop), true};
  const JitFunctions::Function function = jit_.find(record.pid, record.address, now);
  if (function.begin == 0) return place;
  return {out.intern("[jit]"), {}, function.begin, out.intern(function.name), true};
}

// Of a process that sees other files by the same paths, as in a container that a command starts, or
// that is attached to from outside. Many that have mounts of their own (a unit of systemd, a job of
// Slurm) see the same files. Devices are no help: overlayfs and btrfs have others in maps.
bool NativeSampler::isAnother(std::uint32_t pid, std::string_view path, std::uint64_t inode) {
  const auto [known, fresh] = elsewhere_.try_emplace(pid, false);
  if (fresh) {
    const std::string seen = readLink(processPath(root_, pid, "ns/mnt"));
    known->second = !seen.empty() && seen != readLink(under(root_, "proc/self/ns/mnt"));
  }
  struct stat here {};
  return known->second && (::stat(std::string(path).c_str(), &here) != 0 || here.st_ino != inode);
}

NativeMaps::Place NativeSampler::mappedAt(std::uint32_t pid, std::uint64_t address, Nanos now,
                                          EventOut& out) {
  if (address == 0) return {};
  if (const auto place = maps_.find(pid, address)) return *place;
  Nanos& next = nextMapsRead_[pid];
  if (now < next) return {};
  next = now + kMapsEvery;
  const std::string maps = contentOf(processPath(root_, pid, "maps"), kMapsFileBytes);
  maps_.takeMaps(pid, maps, out, [&](std::string_view path, std::uint64_t inode) {
    return isAnother(pid, path, inode);
  });
  jit_.takeMaps(pid, maps);
  return maps_.find(pid, address).value_or(NativeMaps::Place{});
}

NativeSampler::Thread& NativeSampler::threadOf(const PerfRecord& record, Nanos now) {
  if (threads_.size() >= kMaxSampledThreads) threads_.clear();
  Thread& thread = threads_[record.tid];
  if (thread.id.none()) thread.id = tree_.threadOf(tree_.processOf(record.pid, 0), record.tid);
  if (stacks_ != nullptr && thread.seen != now) {
    thread.seen = now;
    thread.samples = stacks_->lastSample(record.pid, record.tid);
    interpreted_ = interpreted_ || thread.samples.at > Nanos{};
  }
  return thread;
}

// Its own stack; of a thread that runs no Python the one that its work is for.
StackId NativeSampler::stackAt(const Thread& thread, const PerfRecord& record,
                               const NativeMaps::Place& place) {
  if (thread.samples.at == Nanos{}) return submitters_.stackOf(record, place.file);
  submitters_.ran(record.tid, place.file, record.at);
  return stackRun(thread.samples, record.at);
}

void NativeSampler::eachSecond(Nanos now, EventOut& out) {
  const double rate =
      static_cast<double>(std::exchange(births_, 0)) / std::max(seconds(now - second_), 0.001);
  second_ = now;
  nextMapsRead_.clear();
  elsewhere_.clear();
  spins_.forget();
  if (const std::uint64_t lost = samples_.takeLost(); lost > 0)
    out.emit(now, Loss{LossKind::kPerfLost, lost, out.intern("native samples")});
  const std::uint64_t limit = maxBirths(samples_.eachThread() ? 2 : samples_.rings());
  fastSeconds_ = rate > static_cast<double>(limit) ? fastSeconds_ + 1 : 0;
  if (fastSeconds_ < kTooFast || std::exchange(stopped_, true)) return;
  samples_.stop();
  emitSource(out, now, "native_samples", Coverage::kPartial,
             "stopped: more than " + std::to_string(limit) +
                 " threads and processes are born a second, and each would be held up");
}

}  // namespace stallprof
