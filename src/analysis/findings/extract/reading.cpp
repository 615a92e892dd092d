// SPDX-License-Identifier: MIT
#include "analysis/findings/extract/reading.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "analysis/blame/samples/read_cpu.h"
#include "analysis/blame/samples/refine.h"
#include "analysis/facts/observed.h"
#include "event/file_systems.h"

namespace stallprof {
namespace {

constexpr double kNearBest = 0.80;      // of the best second of the run
constexpr double kLargeRead = 256e3;    // bytes a call: twice the kernel's readahead of 128 kB;
                                        // where such reads begin costs little
constexpr double kScattered = 0.20;     // of reads that went back: half do at random places, and
                                        // one a file where files are read front to back
constexpr double kReadAround = 64e3;    // bytes a fault: the kernel brings 128 kB a fault where
                                        // they follow each other, 4 kB where they do not
constexpr double kSmallFile = 200e3;    // bytes: opening costs about as much as reading so many
constexpr double kFewMajorFaults = 10;  // a second: above it mapped data comes from storage
constexpr double kFewFileCalls = 20;    // native samples in them: fewer say too little
constexpr double kSomeReading = 0.01;   // of the window: below it nothing is said
constexpr std::size_t kFewFiles = 20;   // fewer are shards, or too few samples to know

// Blocked or on a CPU, as the table of phases has it.
double reading(const Evidence& e) { return e.extract + e.extractCpu; }

// Opens that belong to samples: at least one for every second sample.
bool opensPerSample(const Evidence& e) {
  return e.run.opensPerSecond && *e.run.opensPerSecond > 0.5 * samplesPerSecond(e);
}

// From storage or the page cache; null where neither is counted.
Maybe<double> bytesRead(const Evidence& e) {
  const RunFacts& r = e.run;
  if (!r.bytesPerReadCall || !r.readCallsPerSecond) return r.readBytesPerSecond;
  return std::max(r.readBytesPerSecond.value_or(0), *r.bytesPerReadCall * *r.readCallsPerSecond);
}

bool smallFilesSeen(const Evidence& e) {
  if (openingCostsMore(e)) return true;
  const double size = meanFileSize(e);
  if (size > 0) return size < kSmallFile && (opensPerSample(e) || !e.run.opensPerSecond);
  const Maybe<double> bytes = bytesRead(e);
  return opensPerSample(e) && bytes && *bytes / *e.run.opensPerSecond < kSmallFile;
}

bool scattered(const Evidence& e) {
  const RunFacts& r = e.run;
  if (r.majorFaultsPerSecond.value_or(0) > kFewMajorFaults &&
      r.bytesPerMajorFault.value_or(kReadAround) < kReadAround)
    return true;
  return r.scatteredReadRatio.value_or(0) > kScattered &&
         r.bytesPerReadCall.value_or(0) < kLargeRead;
}

ReadPattern readPatternOf(const Evidence& e) {
  if (smallFilesSeen(e)) return ReadPattern::kSmallFiles;
  if (scattered(e)) return ReadPattern::kRandom;
  return ReadPattern::kBandwidth;
}

// The folder that most files lay in which the trainer was seen to read; "": none was. Each file
// counts once: what it writes its output to is open all the time.
std::string folderOfReads(const Evidence& e) {
  std::map<std::string_view, std::set<StringId>> seen;
  for (const auto& row : e.trace.files) {
    const std::string_view path = e.trace.text(row.data.path);
    if (row.data.process != e.trainer.process || isSystemPath(path)) continue;
    seen[path.substr(0, path.rfind('/'))].insert(row.data.path);
  }
  const auto largest = std::max_element(
      seen.begin(), seen.end(), [](auto& a, auto& b) { return a.second.size() < b.second.size(); });
  return largest == seen.end() ? std::string() : std::string(largest->first);
}

// Most of the blocked reading is in sockets: no storage of this host is asked.
bool readsFromSockets(const Evidence& e) {
  const BlockedReads b = blockedReads(e);
  return b.majority(b.sockets).has_value();
}

// Of a program without an interpreter: how much of the time is in which calls, and on what.
void addCallEvidence(Finding& f, const Evidence& e) {
  const NativeFacts& native = e.trainer.native;
  addEvidence(f, "the main thread opens and closes files {} of the time, and reads {}",
              {ratioWord(native.opening), ratioWord(native.reading)});
  if (e.run.bytesPerReadCall && e.run.readCallsPerSecond)
    addEvidence(f, "{} read calls a second, of {} each",
                {perSecondWord(*e.run.readCallsPerSecond), bytesWord(*e.run.bytesPerReadCall)});
  const std::string folder = folderOfReads(e);
  if (!folder.empty()) addEvidence(f, "files below {}", {textWord(escapeTerminal(folder, 120))});
}

// Of a batch's CPU.
double readingOfCpu(const Evidence& e) {
  const FetchShares shares = fetchShares(e.trainer.stacks);
  return shares.cpuKnown ? shares.cpuExtract : e.trainer.readCpuShare;
}

void count(BlockedReads& b, const Timed<ThreadSlice>& slice, bool network) {
  const double samples = slice.data.samples;
  switch (slice.data.wait) {
    case Wait::kPageFault:
      b.faults += samples;
      break;
    case Wait::kFileRead:
    case Wait::kFileMeta:
      b.files += samples;
      break;
    default:
      if (!network) return;
      b.sockets += samples;
  }
  for (double i = 0; i < samples; ++i) b.all.add(&slice);
}

}  // namespace

bool openingCostsMore(const Evidence& e) {
  const NativeFacts& native = e.trainer.native;
  if (native.seen) return native.opening > native.reading;
  const StackFacts& s = e.trainer.stacks;
  return s.openingFiles + s.readingFiles >= kFewFileCalls && s.openingFiles > s.readingFiles;
}

double samplesPerSecond(const Evidence& e) {
  const double batch =
      e.loader ? static_cast<double>(std::max<std::int64_t>(1, e.loader->batchSize)) : 1;
  return e.perStep > 0 ? batch / e.perStep : 0;
}

double meanFileSize(const Evidence& e) {
  const std::string folder = e.trainer.native.seen ? folderOfReads(e) + "/" : "";
  std::map<StringId, double> sizes;  // each once: what is open all the time has a row a second
  for (const auto& f : e.trace.files) {
    if (f.data.size <= 0) continue;
    if (f.data.process == e.trainer.process &&
        (folder.empty() || !e.trace.text(f.data.path).starts_with(folder)))
      continue;
    sizes[f.data.path] = static_cast<double>(f.data.size);
  }
  double bytes = 0;
  for (const auto& [path, size] : sizes) bytes += size;
  return sizes.size() >= kFewFiles ? bytes / static_cast<double>(sizes.size()) : 0;
}

bool readsNearBest(const Evidence& e) {
  const RunFacts& r = e.run;
  return r.readBytesPerSecond && r.peakReadBytesPerSecond && *r.peakReadBytesPerSecond > 0 &&
         *r.readBytesPerSecond >= kNearBest * *r.peakReadBytesPerSecond;
}

bool readsInPattern(const Evidence& e, ReadPattern pattern) {
  const bool small = pattern == ReadPattern::kSmallFiles;
  return (e.loader || e.trainer.native.seen) && (small ? reading(e) : e.extract) > kNotable &&
         readPatternOf(e) == pattern && !readsFromSockets(e);
}

Finding readingFinding(const Evidence& e, const char* title) {
  Finding f = loaderFinding(e, reading(e), title);
  if (e.trainer.native.seen) f.confidence = shareConfidence(e);
  return f;
}

void addStorageEvidence(Finding& f, const Evidence& e) {
  const RunFacts& r = e.run;
  const bool cached = e.extractCpu > kSomeReading && e.extract <= kSomeReading;
  if (e.trainer.native.seen)
    addCallEvidence(f, e);
  else if (!cached)
    addEvidence(f, "waits for storage {} of the time", {ratioWord(e.extract)});
  if (!e.trainer.native.seen && e.extractCpu > kSomeReading)
    addEvidence(f, "opens and reads files {} of the time on a CPU", {ratioWord(e.extractCpu)},
                ratioWord(e.extractCpu));
  if (const BatchDemand& b = e.gains.demand().batch; b.alone() > 0 && !cached)
    addEvidence(f, "making a batch is blocked {} of {}", {timeWord(b.io), timeWord(b.alone())});
  if (const double share = e.trainer.readCpuShare; share > 0.01)
    addEvidence(f, "{} of the producers' CPU is in read calls, by system time ({})",
                {ratioWord(share), textWord(std::string(kReadCpuRule))});
  if (cached) return;
  if (r.readBytesPerSecond && r.peakReadBytesPerSecond)
    addEvidence(f, "reads {} from storage, best second {}",
                {rateWord(*r.readBytesPerSecond), rateWord(*r.peakReadBytesPerSecond)});
  else if (r.readBytesPerSecond && !isOnNoDisk(r.storageType))
    addEvidence(f, "reads {} from storage", {rateWord(*r.readBytesPerSecond)});
  if (!r.pageCacheKeeps.value_or(true) && r.laterMissRatio)
    addEvidence(f, "{} of the data that later epochs read comes from storage again",
                {ratioWord(*r.laterMissRatio)});
  if (!r.waitWhat.empty() && !r.waitWhat[0].first.empty())
    addEvidence(
        f, "most of it in {}{}",
        {textWord(escapeTerminal(r.waitWhat[0].first, 120)),
         textWord(r.storageType.empty() ? "" : " (" + escapeTerminal(r.storageType, 40) + ")")},
        ratioWord(r.waitWhat[0].second));
}

void offerConcurrency(Finding& f, const Evidence& e) {
  const bool reads =
      e.workers() < 1 ? reading(e) >= e.transform - e.extractCpu : e.extract >= kTied * e.transform;
  if (!reads) return;
  auto more = moreWorkers(e);
  if (!more) return;
  // Storage that is at its limit gives more requests no more bytes: then nothing is gained.
  // A first worker asks for no more at once than the training process did.
  constexpr double kDiskFull = 0.9;  // of the time; storage of flash may still answer more at once
  const bool full = readPatternOf(e) == ReadPattern::kBandwidth ||
                    (e.run.diskBusyRatio.value_or(0) > kDiskFull && readsNearBest(e));
  if (e.workers() > 0 && full && more->predicted.low)
    more->predicted.low = std::min(1.0, *more->predicted.low);
  offer(f, std::move(more));
}

Maybe<Finding> manySmallReads(const Evidence& e, ReadPattern pattern, const char* title,
                              void (*addOwnEvidence)(Finding&, const Evidence&)) {
  if (!readsInPattern(e, pattern)) return {};
  Finding f = readingFinding(e, title);
  addStorageEvidence(f, e);
  addOwnEvidence(f, e);
  offerConcurrency(f, e);
  if (e.trainer.native.seen) offer(f, loadAhead(e, e.extract));
  const bool opens = pattern == ReadPattern::kSmallFiles;
  offer(f, sequentialShards(e, opens ? readingOfCpu(e) : 0));
  return e.extract > kNotable ? withAdvice(std::move(f), {cacheInRam(e)}) : f;
}

Maybe<Share> BlockedReads::majority(double part) const {
  constexpr double kEnough = 10, kMajority = 0.5;
  const Share share = shareOf(part, all);
  if (all.samples < kEnough || share.low <= kMajority) return {};
  return share;
}

BlockedReads blockedReads(const Evidence& e) {
  std::set<ThreadId> producers;
  for (const WorkerFacts& worker : e.trainer.workers)
    for (const ThreadId thread : e.trace.process(worker.process).threads) producers.insert(thread);
  if (producers.empty() && !e.loader)
    producers.insert(e.trainer.threads.begin(), e.trainer.threads.end());
  if (producers.empty()) producers.insert(e.trainer.thread);
  BlockedReads b;
  for (const ThreadId id : producers) {
    const ThreadLife& thread = e.trace.thread(id);
    for (const auto& slice : thread.slices)
      if (slice.end() > e.trainer.windowBegin && slice.at < e.trainer.windowEnd)
        count(b, slice, waitsForNetwork(e.trace, thread, slice.data.wait));
  }
  return b;
}

}  // namespace stallprof
