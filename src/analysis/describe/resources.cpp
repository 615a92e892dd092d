// SPDX-License-Identifier: MIT
#include "analysis/describe/resources.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string_view>

#include "analysis/blame/samples/read_cpu.h"
#include "analysis/describe/disk_use.h"
#include "analysis/facts/ended_children.h"
#include "analysis/facts/observed.h"
#include "analysis/facts/usage.h"
#include "base/largest.h"
#include "classify/waits.h"
#include "event/file_systems.h"

namespace stallprof {
namespace {

constexpr double kMaxReadAround = 131072;  // bytes the kernel reads for one page fault, at most

using Keep = std::function<bool(const ProcessLife&)>;

constexpr double kSomeReads = 0.05;  // that are not counted: a share with them is wrong
// What an epoch reads at least of a data set: less is modules, pipes and logs.
constexpr double kDataBytes = 1 << 20;
constexpr double kMaxBytes = 1e18;  // a damaged recording may claim more

// What the producers' waits for data are for is counted in read_bytes when it comes from storage.
// What does not block comes from memory: there nothing is to be counted.
bool waitsAreCounted(const Trace& trace, const Keep& makers, const Interval& within) {
  double all = 0, uncounted = 0;
  for (const auto& row : trace.files) {
    if (!within.contains(row.at) || !makers(trace.process(row.data.process))) continue;
    const std::string_view type = trace.text(row.data.fsType);
    all += row.data.waits;
    if (!type.empty() && !countsStorageReads(type)) uncounted += row.data.waits;
  }
  for (const ThreadLife& thread : trace.threads) {
    if (!makers(trace.process(thread.process))) continue;
    for (const auto& slice : thread.slices) {
      if (!within.contains(slice.at) || !waitsForNetwork(trace, thread, slice.data.wait)) continue;
      all += slice.data.samples;
      uncounted += slice.data.samples;
    }
  }
  return uncounted <= kSomeReads * all;
}

// Of the files that the producers were seen to wait for.
Maybe<double> sizesWaitedFor(const Trace& trace, const Keep& makers) {
  std::map<StringId, double> sizes;
  for (const auto& row : trace.files)
    if (row.data.waits > 0 && row.data.size > 0 && makers(trace.process(row.data.process)))
      sizes[row.data.path] = static_cast<double>(row.data.size);
  Maybe<double> sum;
  for (const auto& [path, size] : sizes) sum = sum.value_or(0) + size;
  return sum;
}

// Who reads and transforms for this trainer: its workers, or itself where it has none. Workers that
// the hook was not in are known by their role and parent.
Keep producers(const Trace& trace, const TrainerFacts& trainer, const Roles& roles) {
  std::set<ProcessId> makers;
  for (const WorkerFacts& worker : trainer.workers) makers.insert(worker.process);
  if (makers.empty() && !trainer.process.none())
    for (const ProcessLife& p : trace.processes)
      if (roles.of(p.id) == Role::kWorker && p.parent == trainer.process) makers.insert(p.id);
  if (makers.empty() && !trainer.process.none()) makers.insert(trainer.process);
  return [makers = std::move(makers)](const ProcessLife& p) { return makers.count(p.id) != 0; };
}

template <class Field>
Maybe<double> sumUsed(const Trace& trace, const Keep& keep, Field field, const Interval& within) {
  Maybe<double> sum;
  for (const ProcessLife& process : trace.processes)
    if (!process.usage.empty() && keep(process))
      if (const Maybe<double> one = used(process, field, within)) sum = sum.value_or(0) + *one;
  return sum;
}

// Of the whole job, each byte once.
template <class Field>
Maybe<double> movedByAll(const Trace& trace, Field bytes, const Interval& within) {
  Maybe<double> sum;
  const EndedChildren ended(trace);
  for (const ProcessLife& process : trace.processes)
    if (const Maybe<double> one = used(process, ended.ownOf(process), bytes, within))
      sum = sum.value_or(0) + *one;
  return sum;
}

template <class P>
typename Table<P>::const_iterator firstFrom(const Table<P>& table, Nanos at) {
  return std::lower_bound(table.begin(), table.end(), at,
                          [](const Timed<P>& row, Nanos t) { return row.at < t; });
}

template <class P, class Field>
Maybe<std::int64_t> extreme(const Table<P>& table, Field field, const Interval& within, bool max) {
  Maybe<std::int64_t> found;
  for (const auto& row : table) {
    const std::int64_t value = row.data.*field;
    if (row.at < within.begin || row.at > within.end || value < 0) continue;
    if (!found || (max ? value > *found : value < *found)) found = value;
  }
  return found;
}

void measureIo(const Trace& trace, const TrainerFacts& trainer, const Keep& makers,
               const Interval& within, RunFacts& run) {
  const double time = seconds(trainer.window());
  const auto made = [&](auto field) { return sumUsed(trace, makers, field, within); };
  run.readBytesPerSecond = per(movedByAll(trace, &ProcessUsage::readBytes, within), time);
  const Maybe<double> chars = made(&ProcessUsage::readChars);
  const Maybe<double> calls = made(&ProcessUsage::readCalls),
                      bytes = made(&ProcessUsage::readBytes);
  run.readCallsPerSecond = per(calls, time);
  const Maybe<double> faults = made(&ProcessUsage::majorFaults);
  run.majorFaultsPerSecond = per(faults, time);
  if (bytes && faults && *bytes > 0 && *faults > 0) run.bytesPerMajorFault = *bytes / *faults;
  if (chars && calls && *calls > 0) run.bytesPerReadCall = *chars / *calls;
  const double around = std::min(bytes.value_or(0), faults.value_or(0) * kMaxReadAround);
  const bool mapped = chars && around > kSomeReads * *chars;
  // What programs that they started hand over comes through pipes (WebDataset's `pipe:`, ffmpeg):
  // where it was read is not in the makers' counts.
  const auto makes = [&](ProcessId id) { return makers(trace.process(id)); };
  const Keep started = [&](const ProcessLife& p) {
    return !makers(p) && !firstAbove(trace, p.id, makes).none();
  };
  const double handed = sumUsed(trace, started, &ProcessUsage::writeChars, within).value_or(0);
  const bool piped = chars && handed > kSomeReads * *chars;
  run.readsCounted = !mapped && !piped && waitsAreCounted(trace, makers, within);
  if (chars && !piped) run.rereads = rereads(trace, makers, *chars, within);
  if (run.readsCounted && chars && bytes && *chars > 0)
    run.cacheHitRatio = std::clamp(1 - *bytes / *chars, 0.0, 1.0);
  Table<SyscallCount> opens;
  for (const auto& row : trace.syscalls)
    if (trace.text(row.data.name) == "openat") opens.push_back(row);
  run.opensPerSecond = per(growth(opens, &SyscallCount::count, within), time);
  for (const Epoch& epoch : trainer.epochs) {
    // What part of an epoch reads says nothing of how much there is.
    if (epoch.evaluation || !(mapped || epoch.whole)) continue;
    const auto read =
        mapped ? sizesWaitedFor(trace, makers)
               : sumUsed(trace, makers, &ProcessUsage::readChars, Interval{epoch.begin, epoch.end});
    run.filesSized = mapped;
    if (read && *read > 0) run.datasetBytes = static_cast<std::int64_t>(std::min(*read, kMaxBytes));
    break;
  }
}

void measureMemory(const Trace& trace, const Interval& within, RunFacts& run) {
  const double time = seconds(within.length());
  run.memoryAvailable = extreme(trace.host, &HostUsage::memoryAvailable, within, false);
  run.memoryTotal = extreme(trace.host, &HostUsage::memoryTotal, within, true);
  run.shmPeak = extreme(trace.host, &HostUsage::shmUsed, within, true);
  const Maybe<std::int64_t> shm = extreme(trace.host, &HostUsage::shmTotal, within, true);
  if (shm.value_or(0) > 0 && run.shmPeak)  // 0: it has no limit
    run.shmFree = std::max<std::int64_t>(0, *shm - *run.shmPeak);
  run.memoryPressureRatio = per(growth(trace.host, &HostUsage::memorySome, within), time * 1e9);
  const Maybe<double> in = growth(trace.host, &HostUsage::swapInPages, within);
  const Maybe<double> out = growth(trace.host, &HostUsage::swapOutPages, within);
  if (in && out) run.swapPagesPerSecond = per(*in + *out, time);
  for (const auto& row : trace.cgroups)
    if (row.at >= within.begin && row.at <= within.end && row.data.memoryLimit > 0 &&
        row.data.memoryBytes >= 0) {
      const std::int64_t used = row.data.memoryBytes;
      const std::int64_t file = std::clamp<std::int64_t>(row.data.memoryFile, 0, used);
      const std::int64_t room = std::max<std::int64_t>(0, row.data.memoryLimit - (used - file));
      run.cgroupHeadroom = std::min(run.cgroupHeadroom.value_or(room), room);
    }
}

// Does the page cache keep what is read? A later epoch that reads from storage again says no
// (O_DIRECT, or a data set that pushes itself out); one that does not says yes. Within one epoch: a
// cache that does not grow by what is read, with memory free for it, is not used.
void measureCaching(const Trace& trace, const TrainerFacts& trainer, const Keep& makers,
                    RunFacts& run) {
  constexpr double kMisses = 0.5, kHits = 0.1, kGrows = 0.2;
  if (!run.readsCounted) return;
  double chars = 0, bytes = 0;
  bool first = true;
  for (const Epoch& epoch : trainer.epochs) {
    if (epoch.evaluation) continue;
    if (!first) {
      const auto used = [&](auto field) {
        return sumUsed(trace, makers, field, Interval{epoch.begin, epoch.end}).value_or(0);
      };
      chars += used(&ProcessUsage::readChars);
      bytes += used(&ProcessUsage::readBytes);
    }
    first = false;
  }
  if (chars > 0) {
    const double missed = std::min(1.0, bytes / chars);
    run.laterMissRatio = missed;
    if (missed > kMisses || missed < kHits) run.pageCacheKeeps = missed < kHits;
    return;
  }
  const Interval within = trainer.windowInterval();
  const auto samples = knownIn(trace.host, &HostUsage::pageCache);
  if (!samples ||
      seconds(std::min(samples->second, within.end) - std::max(samples->first, within.begin)) <
          kMinCovered * seconds(within.length()))
    return;
  const auto cached = [&](Nanos at) { return valueAt(trace.host, &HostUsage::pageCache, at); };
  const Maybe<double> before = cached(within.begin), after = cached(within.end),
                      room = valueAt(trace.host, &HostUsage::memoryAvailable, within.begin);
  const auto read = movedByAll(trace, &ProcessUsage::readBytes, within);
  if (!before || !after || !room || !read || *read <= 0) return;
  // Available memory counts most of the page cache in: what is more than that is free.
  if (*room - *before > *read) run.pageCacheKeeps = *after - *before > kGrows * *read;
}

// What the files say that the producers were seen to wait for.
void measureFiles(const Trace& trace, const Keep& makers, const Interval& within, RunFacts& run) {
  std::map<StringId, std::uint64_t> types;
  double onward = 0, scattered = 0;
  for (auto row = firstFrom(trace.files, within.begin);
       row != trace.files.end() && row->at < within.end; ++row) {
    if (row->data.waits == 0 || !makers(trace.process(row->data.process))) continue;
    types[row->data.fsType] += row->data.waits;
    onward += row->data.onward;
    scattered += row->data.scattered;
  }
  const auto maximum = largestIn(types);
  if (maximum != types.end()) run.storageType = escapeTerminal(trace.text(maximum->first), 32);
  if (onward + scattered >= RunFacts::kFewReadPairs)
    run.scatteredReadRatio = scattered / (onward + scattered);
}

// Files and sockets the producers were blocked in, most first.
void measureWaits(const Trace& trace, const Keep& makers, const Interval& within, RunFacts& run) {
  std::map<StringId, double> blocked;
  double total = 0;
  for (const ThreadLife& thread : trace.threads) {
    if (!makers(trace.process(thread.process))) continue;
    for (auto slice = firstFrom(thread.slices, within.begin);
         slice != thread.slices.end() && slice->at < within.end; ++slice) {
      const ThreadSlice& s = slice->data;
      if (producerWait(s.wait).phase != Phase::kExtract) continue;
      const double time = seconds(std::max(Nanos{}, s.duration - s.run - s.queued));
      blocked[s.what] += time;
      total += time;
    }
  }
  std::vector<std::pair<StringId, double>> order(blocked.begin(), blocked.end());
  std::sort(order.begin(), order.end(), [](auto& a, auto& b) { return a.second > b.second; });
  constexpr std::size_t kNamed = 5;
  for (std::size_t i = 0; i < std::min(kNamed, order.size()) && total > 0; ++i)
    run.waitWhat.emplace_back(escapeTerminal(trace.text(order[i].first), 160),
                              order[i].second / total);
}

// Resident memory of the job at its peak: private parts, and the largest shared part once.
Maybe<std::int64_t> peakResident(const Trace& trace) {
  std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> bySecond;  // private sum, shared
  for (const ProcessLife& process : trace.processes) {
    std::int64_t counted = -1;  // once a process and second: samples may come closer than that
    for (const auto& row : process.usage) {
      const std::int64_t second = row.at.count() / 1'000'000'000;
      if (row.data.residentBytes < 0 || second == counted) continue;
      counted = second;
      auto& [own, shared] = bySecond[second];
      const std::int64_t common = std::max<std::int64_t>(0, row.data.sharedBytes);
      own += row.data.residentBytes - common;
      shared = std::max(shared, common);
    }
  }
  Maybe<std::int64_t> peak;
  for (const auto& [second, parts] : bySecond)
    peak = std::max(peak.value_or(0), parts.first + parts.second);
  return peak;
}

}  // namespace

RunFacts measureRun(const Trace& trace, const TrainerFacts& trainer, const Roles& roles) {
  const Interval within = trainer.windowInterval();
  RunFacts run;
  measureCpu(trace, trainer, run);
  run.numa = measureNuma(trace, trainer);
  run.faultSeconds = faultSeconds(trace);
  const Keep makers = producers(trace, trainer, roles);
  measureFiles(trace, makers, within, run);
  measureDisk(trace, within, movedByAll(trace, &ProcessUsage::readBytes, within).value_or(0), run);
  measureIo(trace, trainer, makers, within, run);
  // Of a short run no second may be whole: then the best is not known.
  if (run.readBytesPerSecond && run.peakReadBytesPerSecond &&
      *run.readBytesPerSecond > *run.peakReadBytesPerSecond)
    run.peakReadBytesPerSecond.reset();
  measureMemory(trace, within, run);
  measureCaching(trace, trainer, makers, run);
  measureWaits(trace, makers, within, run);
  run.pool = poolUse(trace, trainer);
  run.threadsSet = threadsSet(trace, trainer);
  run.workerSpins = workerSpins(trace, trainer);
  run.workerFaultsPerSecond = workerFaultsPerSecond(trace, trainer);
  return run;
}

Resources measureResources(const Trace& trace, const TrainerFacts& trainer, const Roles& roles,
                           const RunFacts& run) {
  const Interval within = trainer.windowInterval();
  const double time = seconds(trainer.window());
  Resources out;
  static_cast<CpuUse&>(out) = run;
  if (trace.manifest.host.coresOnline > 0 || !trace.manifest.imported()) out.cores = run.cores;
  for (const Role role : {Role::kTrainer, Role::kWorker, Role::kHelper}) {
    const Keep same = [&](const ProcessLife& p) { return roles.of(p.id) == role; };
    if (const auto cpu =
            per(sumUsed(trace, same, &ProcessUsage::cpu, within), run.cores * time * 1e9))
      out.roleCpuRatio.emplace_back(nameOf(role), *cpu);
  }
  out.readBytesPerSecond = run.readBytesPerSecond;
  out.writeBytesPerSecond = per(movedByAll(trace, &ProcessUsage::writeBytes, within), time);
  std::map<StringId, Table<NetworkUsage>> interfaces;
  for (const auto& row : trace.networks) interfaces[row.data.interface].push_back(row);
  for (const auto& [name, rows] : interfaces) {
    const double moved = growth(rows, &NetworkUsage::receivedBytes, within).value_or(0) +
                         growth(rows, &NetworkUsage::sentBytes, within).value_or(0);
    if (time > 0) out.netBytesPerSecond = out.netBytesPerSecond.value_or(0) + moved / time;
  }
  out.cacheHitRatio = run.cacheHitRatio;
  out.peakRssBytes = peakResident(trace);
  for (const WorkerFacts& worker : trainer.workers)
    if (worker.lastResident >= 0)
      out.workerRssBytes = std::max(out.workerRssBytes.value_or(0), worker.lastResident);
  out.shmBytes = run.shmPeak;
  return out;
}

std::vector<EpochInfo> measureEpochs(const Trace& trace, const TrainerFacts& trainer,
                                     const Roles& roles, const RunFacts& run) {
  std::vector<EpochInfo> epochs;
  std::vector<Nanos> begins, ends;
  for (const Epoch& epoch : trainer.epochs) {
    if (epoch.evaluation) continue;
    EpochInfo info;
    info.index = static_cast<std::int64_t>(epochs.size());
    info.wall = epoch.end - epoch.begin - epoch.stopped;
    info.steps = static_cast<std::int64_t>(epoch.steps);
    if (info.wall > Nanos{}) info.dataWaitRatio = seconds(epoch.wait) / seconds(info.wall);
    const Nanos between = epochs.empty() ? Nanos{} : epoch.begin - ends.back();
    if (epoch.whole) info.period = info.wall + between;
    if (!epochs.empty()) epochs.back().period = epochs.back().wall + between;
    epochs.push_back(info);
    begins.push_back(epoch.begin);
    ends.push_back(epoch.end);
  }
  if (!run.readsCounted) return epochs;
  // Of each producer only the epochs it lived in: workers may be new in each of many epochs.
  std::vector<double> chars(epochs.size()), bytes(epochs.size());
  const Keep makers = producers(trace, trainer, roles);
  for (const ProcessLife& process : trace.processes) {
    if (!makers(process) || process.usage.empty()) continue;
    const Nanos last = process.usage.back().at;
    auto i = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), process.seen) -
                                      ends.begin());
    for (; i < epochs.size() && begins[i] <= last; ++i) {
      const auto read = used(process, &ProcessUsage::readChars, Interval{begins[i], ends[i]});
      const auto stored = used(process, &ProcessUsage::readBytes, Interval{begins[i], ends[i]});
      if (read && stored) {
        chars[i] += *read;
        bytes[i] += *stored;
      }
    }
  }
  for (std::size_t i = 0; i < epochs.size(); ++i)
    if (chars[i] >= kDataBytes)
      epochs[i].cacheHitRatio = std::clamp(1 - bytes[i] / chars[i], 0.0, 1.0);
  return epochs;
}

}  // namespace stallprof
