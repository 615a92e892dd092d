// SPDX-License-Identifier: MIT
// extract.page_faults and extract.remote_latency: what the producers are blocked in, where it is
// not read calls on local storage.
#include <algorithm>
#include <map>
#include <set>

#include "analysis/findings/rules.h"
#include "analysis/findings/wording.h"
#include "analysis/usage.h"

namespace stallprof {
namespace {

constexpr double kMostly = 0.5;
constexpr double kFarBelowBest = 0.6;  // of the best second's rate: more was possible
constexpr double kSlowLink = 50e6;     // bytes/s: under half of what 1 Gbit/s carries
constexpr double kFewLooks = 30;

// Looks at the threads that make batches, by what they were blocked in.
struct Blocked {
  double faults = 0, sockets = 0, files = 0;
  LookSum all;
};

void count(Blocked& b, const Timed<ThreadSlice>& slice) {
  const double looks = slice.data.looks;
  switch (slice.data.wait) {
    case Wait::kPageFault:
      b.faults += looks;
      break;
    case Wait::kSocket:
      b.sockets += looks;
      break;
    case Wait::kFileRead:
    case Wait::kFileMeta:
      b.files += looks;
      break;
    default:
      return;
  }
  for (double i = 0; i < looks; ++i) b.all.add(&slice);
}

Blocked blockedProducers(const Evidence& e) {
  std::set<ThreadId> producers;
  for (const WorkerFacts& worker : e.trainer.workers)
    for (const ThreadId thread : e.trace.process(worker.process).threads) producers.insert(thread);
  if (producers.empty()) producers.insert(e.trainer.thread);
  Blocked b;
  for (const ThreadId id : producers)
    for (const auto& slice : e.trace.thread(id).slices)
      if (slice.end() > e.trainer.windowBegin && slice.at < e.trainer.windowEnd) count(b, slice);
  return b;
}

bool networkStorage(const std::string& type) {
  for (const char* name :
       {"nfs", "cifs", "smb", "ceph", "fuse", "lustre", "gpfs", "9p", "glusterfs", "beegfs", "afs"})
    if (type.starts_with(name)) return true;
  return false;
}

struct Rate {
  double mean = 0, best = 0;  // bytes a second
  bool loopback = false;      // more came from this host itself than over its interfaces
};

// All interfaces together, or the loopback: a server or a tunnel's end on this host answers there.
Maybe<Rate> receiveRate(const Evidence& e) {
  std::map<StringId, Table<NetworkUsage>> byInterface;
  for (const auto& row : e.trace.networks) byInterface[row.data.interface].push_back(row);
  if (byInterface.empty() || e.window <= 0) return {};
  Rate rate, local;
  local.loopback = true;
  for (const auto& [name, table] : byInterface) {
    Rate& to = e.trace.text(name) == "lo" ? local : rate;
    const auto field = &NetworkUsage::receivedBytes;
    to.mean +=
        growth(table, field, e.trainer.windowBegin, e.trainer.windowEnd).value_or(0) / e.window;
    double best = 0;
    for (std::size_t i = 1; i < table.size(); ++i)
      if (const double s = seconds(table[i].at - table[i - 1].at); s > 0.2)
        best = std::max(
            best,
            static_cast<double>(table[i].data.receivedBytes - table[i - 1].data.receivedBytes) / s);
    to.best += best;
  }
  return local.mean > rate.mean ? local : rate;
}

// Read ahead of use, one fault brings what ten brought; scattered, nothing changes.
Advice readAhead(const Evidence& e) {
  PipelineSettings likely = e.gains.base(), least = likely, most = likely;
  likely.ioScale = 0.5, least.ioScale = 1 / 1.1, most.ioScale = 0.1;
  return adviceOf("read_ahead", {"code", "mmap", "on demand", "ahead"},
                  e.gains.predict(likely, least, most), "more memory is read than is used");
}

Advice localCopy(const Evidence& e) {
  PipelineSettings likely = e.gains.base(), least = likely, most = likely;
  likely.ioScale = 0.2, least.ioScale = 0.5, most.ioScale = 0.02;
  return adviceOf("local_copy", {"data", "dataset", "remote", "local"},
                  e.gains.predict(likely, least, most), "a second copy of the data on this host");
}

}  // namespace

bool readsFromSockets(const Evidence& e) {
  const Blocked b = blockedProducers(e);
  return b.all.looks >= kFewLooks && shareOf(b.sockets, b.all).low > kMostly;
}

Maybe<Finding> pageFaults(const Evidence& e) {
  if (!e.loader || e.extract <= kNotable) return {};
  const Blocked b = blockedProducers(e);
  const Share share = shareOf(b.faults, b.all);
  if (b.all.looks < kFewLooks || share.low <= kMostly) return {};
  Finding f = findingOf(e, "extract.page_faults", Phase::kExtract, share.value * e.extract,
                        "Mapped data is not in memory: batches stop at every first touch");
  if (f.shareRatio <= kNotable) return {};
  tell(f,
       percent(share.value) + " of the blocked reading is in page faults, not in read calls (" +
           number(b.all.looks) + " looks)",
       share.value, "ratio");
  if (e.run.majorFaultsPerSecond)
    tell(f, number(*e.run.majorFaultsPerSecond) + " major faults a second",
         *e.run.majorFaultsPerSecond, "per_s");
  offer(f, readAhead(e));
  if (auto a = cacheInRam(e)) offer(f, std::move(*a));
  return f;
}

Maybe<Finding> remoteLatency(const Evidence& e) {
  if (!e.loader || e.extract <= kNotable) return {};
  const Blocked b = blockedProducers(e);
  const bool mounted = networkStorage(e.run.storageType);
  const Share share = shareOf(b.sockets + (mounted ? b.files + b.faults : 0), b.all);
  if (b.all.looks < kFewLooks || share.low <= kMostly) return {};
  const Maybe<Rate> rate = receiveRate(e);
  // Near the link's best, bandwidth is short, not latency; without a rate nobody can tell.
  if (!rate || (rate->mean > kSlowLink && rate->mean > kFarBelowBest * rate->best)) return {};
  Finding f = findingOf(e, "extract.remote_latency", Phase::kExtract, share.value * e.extract,
                        "Batches wait for answers from the network, a few at a time");
  if (f.shareRatio <= kNotable) return {};
  tell(f,
       percent(share.value) + " of the blocked reading is in " +
           (b.sockets >= b.files + b.faults ? std::string("sockets") : e.run.storageType) + " (" +
           number(b.all.looks) + " looks)",
       share.value, "ratio");
  tell(f,
       "receives " + bytesPerSecond(rate->mean) + (rate->loopback ? " from this host itself" : "") +
           ", best second " + bytesPerSecond(rate->best),
       rate->mean, "bytes_per_s");
  if (auto a = moreWorkers(e)) offer(f, std::move(*a));
  offer(f, localCopy(e));
  offer(f, sequentialShards(e));
  return f;
}

}  // namespace stallprof
