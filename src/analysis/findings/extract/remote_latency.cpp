// SPDX-License-Identifier: MIT
// extract.remote_latency: batches wait for answers from the network.
#include <algorithm>
#include <map>

#include "analysis/facts/usage.h"
#include "analysis/findings/ahead.h"
#include "analysis/findings/extract/reading.h"
#include "analysis/findings/transform/batches.h"
#include "event/file_systems.h"

namespace stallprof {
namespace {

constexpr double kFarBelowBest = 0.6;  // of the best second's rate: more was possible
constexpr double kSlowLink = 50e6;     // bytes/s: under half of what 1 Gbit/s carries
constexpr double kSlowestLink = 5e6;   // of what 100 Mbit/s, or much of a radio link, carries

const AdviceDefinition kLocalCopy{
    "local_copy",
    "Copy or cache the data on this host before training. A streaming reader with a local cache "
    "does this during the first epoch."};

Advice localCopy(const Evidence& e) {
  return adviceOf(kLocalCopy, {"data", "dataset", "remote", "local"},
                  predictScaled(e, &PipelineSettings::ioScale, 0.2, 0.5, 0.02,
                                "a local copy takes a fifth of the time, at best a fiftieth"),
                  "a second copy of the data on this host");
}

// The interfaces that are seen bring little of what is read where others do: those of the host, for
// a pod whose volumes the host mounts, or RDMA; or none, where FUSE is a program over a local disk.
bool fromNetwork(const Evidence& e, double received) {
  constexpr double kLittle = 0.1;
  return received >
         kLittle * e.run.readCallsPerSecond.value_or(0) * e.run.bytesPerReadCall.value_or(0);
}

struct ReceiveRate {
  double mean = 0, best = 0;  // bytes a second
};

// All interfaces together.
Maybe<ReceiveRate> receiveRate(const Evidence& e) {
  std::map<StringId, Table<NetworkUsage>> byInterface;
  for (const auto& row : e.trace.networks) byInterface[row.data.interface].push_back(row);
  if (byInterface.empty() || e.window <= 0) return {};
  ReceiveRate rate;
  for (const auto& [name, table] : byInterface) {
    const auto field = &NetworkUsage::receivedBytes;
    rate.mean += growth(table, field, e.trainer.windowInterval()).value_or(0) / e.window;
    double best = 0;
    for (std::size_t i = 1; i < table.size(); ++i)
      if (const double s = seconds(table[i].at - table[i - 1].at); s > 0.2)
        best = std::max(
            best,
            static_cast<double>(table[i].data.receivedBytes - table[i - 1].data.receivedBytes) / s);
    rate.best += best;
  }
  return rate;
}

Maybe<Finding> remoteLatency(const Evidence& e) {
  const bool byThreads = !e.loader && !e.trainer.threads.empty();
  if (!(e.loader || byThreads) || e.extract <= kNotable) return {};
  const BlockedReads b = blockedReads(e);
  const bool mounted = answersRemotely(e.run.storageType);
  const Maybe<Share> share = b.majority(b.sockets + (mounted ? b.files + b.faults : 0));
  if (!share) return {};
  const Maybe<ReceiveRate> rate = receiveRate(e);
  // Near the link's best, bandwidth is short, not latency; without a rate neither is known.
  if (!rate || (rate->mean > kSlowLink && rate->mean > kFarBelowBest * rate->best)) return {};
  if (b.sockets < b.files + b.faults && !fromNetwork(e, rate->mean)) return {};
  const char* title = "Batches wait for network responses, with few requests in flight";
  Finding f = byThreads ? threadsFinding(e, title) : loaderFinding(e, 0, title);
  f.shareRatio = share->value * e.extract;
  if (f.shareRatio <= kNotable) return {};
  addEvidence(
      f, "{} of the blocked reading is in {} ({} samples)",
      {ratioWord(share->value),
       textWord(b.sockets >= b.files + b.faults ? std::string("sockets") : e.run.storageType),
       numberWord(b.all.samples)});
  // Answers of this same host count nowhere: its loopback is no link.
  if (rate->best > 0)
    addEvidence(f, "receives {}, best second {}", {rateWord(rate->mean), rateWord(rate->best)});
  if (byThreads)
    return withAdvice(f, {moreRequests(e, "these threads", f.shareRatio), localCopy(e)});
  Maybe<Advice> more = moreWorkers(e);
  // A slower link, or the far side, may be at its limit all the time: then nothing is gained.
  const bool steady = rate->mean > kSlowestLink && rate->mean > kFarBelowBest * rate->best;
  if (more && more->predicted.low && steady)
    more->predicted.low = std::min(1.0, *more->predicted.low);
  return withAdvice(f, {more, localCopy(e), sequentialShards(e)});
}

}  // namespace

extern const AdviceDefinition kMoreRequests{
    "more_requests",
    "Have more requests under way at once: more of the threads or tasks that fetch (they wait, so "
    "that they need no cores), and batches asked for further ahead."};

Advice moreRequests(const Evidence& e, std::string now, double share) {
  return adviceOf(kMoreRequests, {"code", "requests", std::move(now), "more"},
                  moreAtOnce(e, share, 4, "requests bring"),
                  "a server that limits the rate answers no faster");
}

extern const FindingDefinition kRemoteLatency(
    "extract.remote_latency", remoteLatency,
    offers(kMoreWorkers, kMoreRequests, kLocalCopy, kSequentialShards),
    within("transform.in_process", "extract.storage_bandwidth", "extract.random_access",
           "extract.small_files"),
    {.cause =
         R"(The producers (workers, or threads of the program) wait for responses from the network: an
  object store, NFS, or a streaming service. Each request takes one round trip, and few requests are
  in flight.)",
     .rule =
         R"(more than 5 % of the window is blamed on blocked reading, and over half of it (at the
  low end of a 90 % interval) is in sockets or on a network file system. The host receives under 50
  MB/s, or under 60 % of its best second. Does not fire without network counters. Nor does it fire
  if the interfaces receive less than a tenth of the data read from such a file system. Then they do
  not carry its traffic (a container whose volumes the host mounts, RDMA).)",
     .fixes =
         R"(- More requests at once: more workers, threads in a worker, downloads ahead of time.
- Larger requests: shards instead of objects.
- A local copy or cache.)",
     .wrong = R"(the server limits the rate (quota, throttling). Then more requests do not help:
  the rate does not change with concurrency.)"});

}  // namespace stallprof
