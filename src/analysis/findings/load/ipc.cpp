// SPDX-License-Identifier: MIT
// load.ipc: moving batches between processes.
#include <algorithm>
#include <utility>

#include "analysis/findings/fixes.h"
#include "analysis/findings/loader_setting.h"
#include "analysis/findings/overhead.h"
#include "analysis/findings/samplers.h"
#include "analysis/findings/transform/batches.h"

namespace stallprof {
namespace {

const AdviceDefinition kUint8Batches{
    "uint8_batches",
    "Send batches as uint8 and convert to float after they arrive: only a quarter of the bytes is "
    "copied, mapped and pinned."};

// Arrays of up to 128 kB a batch make a step 1.2 to 1.3 times as fast, from 512 kB on no faster,
// beside a worker that holds its lock: scripts/bench_handover.
const AdviceDefinition kTensorsOnce{
    "tensors_once",
    "Let collate_fn return one tensor per field instead of lists of Python objects, and build each "
    "tensor once. For batches under some 100 kB return NumPy arrays, and convert them to tensors "
    "after next(): they need no shared memory, which the training process must request from the "
    "worker."};

// What carries them is the program's own: a queue, a pipe or a pool.
const AdviceDefinition kShareArrays{
    "share_arrays",
    "Send few large arrays instead of many Python objects, and let both processes map them "
    "(multiprocessing.shared_memory, or tensors through torch.multiprocessing): a queue or a pipe "
    "pickles and copies every byte. If data take less time to make than to send, make them in the "
    "training process, as gymnasium's SyncVectorEnv does."};

const AdviceDefinition kRarerSnapshots{
    "rarer_snapshots", {}, [](const AdviceContext& c) {
      return "Set snapshot_every_n_steps" + atLine(c.finding.where) +
             " to the number of steps between checkpoints: by default the state of the worker and "
             "of its data set is sent with each batch.";
    }};

constexpr double kMinReleased = 0.01;  // of the window: below it is what any memory costs

// Shares of the window in plain steps: an epoch's end and begin, where workers end, start and have
// no index yet, are not transport.
struct Transport {
  double own = 0, blamed = 0;
  double drawn = 0;     // beside `own`: in the samplers, inside next() too
  double released = 0;  // beside these: outside of next()
};
Transport transportIn(const Evidence& e) {
  const TrainerFacts& t = e.trainer;
  Transport all;
  if (e.window > 0) {
    const Split& joined = t.joined.plainSplit;
    all.own = std::max(0.0, seconds(joined.load - joined.copy)) / e.window;
    all.blamed = std::max(0.0, seconds(t.joined.plainBlame.load)) / e.window;
  }
  for (std::size_t i = t.warmup; i < t.steps.size() && e.window > 0; ++i) {
    if (t.steps[i].boundary) continue;
    all.own += std::max(0.0, seconds(t.steps[i].split.load - t.steps[i].split.copy)) / e.window;
    all.blamed += std::max(0.0, seconds(t.steps[i].blame.load)) / e.window;
  }
  // A prefetch of one leaves the worker without an index after every batch.
  if (e.prefetch() < 2) all.blamed = 0;
  all.drawn = std::min(all.own, e.drawing.value);
  all.own -= all.drawn;
  if (e.releasing.low > kMinReleased) all.released = e.releasing.value;
  return all;
}

constexpr double kBytesMatter = 0.10;  // of a batch's hand-over

// What one batch's hand-over is made of, as shares of it. A batch of one tensor costs the same few
// hundred microseconds whether it has 16 KB or 8 MB (0.44 to 0.53 ms here: the queue's locks, the
// descriptor's passing, the mapping); copies on the way, as into pinned memory, cost at most 0.3 ns
// a byte (3 GB/s); what lies above both is Python objects, pickled one by one.
struct HandOver {
  double bytes = 0, objects = 0;
};
HandOver handOver(const Evidence& e, double share) {
  constexpr double kFixed = 0.45e-3, kPerByte = 0.3e-9;
  const double load = share * e.perStep, own = e.ownLoad - e.releasing.value;
  if (load <= 0) return {};
  const double sent =
      own > 0 ? std::max(0.0, 1 - e.drawing.value / own) : 1;  // of the model's load
  const double above = std::max(0.0, load - kFixed);
  const double bytes = std::min(load, std::max(0.0, e.gains.workload().batchBytes) * kPerByte);
  return {sent * bytes / load, sent * std::max(0.0, above - bytes) / load};
}

// So much of what bytes cost inside next() goes, and of unmapping them.
PipelineSettings withFewerBytes(const Evidence& e, double ofLoad, double ofReleases) {
  PipelineSettings s = e.gains.base();
  const double own = e.gains.demand().step.own;
  s.loadScale = 1 - ofLoad;
  if (own > 0) s.ownScale = 1 - std::min(0.9, ofReleases * e.perStep / own);
  return s;
}

// Nothing where bytes are a small part of it: what it would take from the rest is not known.
Maybe<Advice> uint8Batches(const Evidence& e, const HandOver& share, bool released) {
  if (share.bytes < kBytesMatter && !released) return {};
  const Share releases = released ? e.releasing : Share{0, 0, 0};
  // A quarter of the bytes; the rate is an upper bound, so half of it is likely and none possible.
  return adviceOf(
      kUint8Batches, {"code", "dtype", "float32", "uint8"},
      assuming("a byte costs half of 0.3 ns, at most all of it, and a quarter of the bytes remains "
               "to move and unmap",
               e.gains.predictAssumed(withFewerBytes(e, 0.375 * share.bytes, 0.75 * releases.value),
                                      withFewerBytes(e, 0, 0.75 * releases.low),
                                      withFewerBytes(e, 0.75 * share.bytes, 0.75 * releases.high))),
      "normalise on the device after the copy; only for values that are whole "
      "numbers from 0 to 255");
}

Prediction withFewerObjects(const Evidence& e, const HandOver& share) {
  return predictScaled(e, &PipelineSettings::loadScale, 1 - 0.7 * share.objects,
                       1 - 0.2 * share.objects, 1 - std::max(0.9 * share.objects, 0.2),
                       "seven tenths of the cost of objects is removed, at most nine tenths");
}

Advice tensorsOnce(Prediction gain) {
  return adviceOf(kTensorsOnce, {"code", "collate_fn", "many objects", "one tensor a field"},
                  std::move(gain),
                  "none: Python objects are pickled one by one, a tensor is sent as one handle");
}

Prediction quarterLeft(const Evidence& e, double share, const std::string& what) {
  return assuming("a quarter of the " + what + " remains, at best a tenth",
                  withoutOverhead(e, share, 0.25, 0.75, 0.1));
}

// The state may be most of the objects that are sent, for which `share` of the window goes.
Maybe<Advice> rarerSnapshots(const Evidence& e, double share) {
  return adviceOf(kRarerSnapshots, {"code", "snapshot_every_n_steps", "each batch", "each N steps"},
                  quarterLeft(e, share, "cost of objects"),
                  "a run that is resumed between two of them makes the batches since again");
}

constexpr char kTitle[] = "Transfer of batches between processes takes much time";

// Of a loader that the hook does not know, or of a pool: what a batch's transfer is made of is not
// known. Of pickling, a copy into the pipe, one out of it and unpickling, one copy has to be left.
Maybe<Finding> ofOtherProcesses(const Evidence& e) {
  const double share = e.loadBlame + e.ownLoad;
  if (e.loader || share <= kNotable || threadsOfOthers(e) == 0) return {};
  Finding f = loaderFinding(e, share, kTitle);
  f.confidence = std::min(f.confidence, Confidence::kMedium);  // the threads are found by samples
  if (e.perStep > 0)
    addEvidence(f, "transfer takes {} of {} per step",
                {timeWord(share * e.perStep), timeWord(e.perStep)}, ratioWord(share));
  addThreadsEvidence(f, e);
  return withAdvice(
      f, {adviceOf(kShareArrays, {"code", "transfer", "pickled objects", "shared arrays"},
                   quarterLeft(e, share, "transfer"),
                   "memory that is shared has to be reused or released")});
}

Maybe<Finding> ipc(const Evidence& e) {
  const auto [own, blamed, drawn, released] = transportIn(e);
  if (e.workers() < 1) return ofOtherProcesses(e);
  const double received = own + blamed, share = received + released;
  if (samplersDominate(e, share + drawn)) return samplersFinding(e, share + drawn);
  if (Maybe<Finding> ahead = samplersAheadFinding(e); ahead && ahead->shareRatio > share)
    return ahead;
  if (share <= kNotable) return {};
  Finding f = loaderFinding(e, share, kTitle);
  addEvidence(f, "receiving and unpickling takes {} of the training process's time",
              {ratioWord(own)});
  addEvidence(f, "waits {} for finished batches that have not arrived", {ratioWord(blamed)});
  if (const double bytes = e.gains.workload().batchBytes; bytes > 0)
    addEvidence(f, "{} per batch", {bytesWord(bytes)});
  if (released > 0)
    addEvidence(f, "unmapping the shared memory of used batches takes {}", {ratioWord(released)});
  const HandOver parts = handOver(e, received);
  return withAdvice(f, {e.sendsState() ? rarerSnapshots(e, received * parts.objects) : std::nullopt,
                        uint8Batches(e, parts, released > 0),
                        tensorsOnce(withFewerObjects(e, parts)), fewerWorkers(e)});
}

}  // namespace

extern const FindingDefinition kIpc(
    "load.ipc", ipc,
    offers(kUint8Batches, kTensorsOnce, kShareArrays, kRarerSnapshots, kFewerWorkers,
           kCheaperSampler, kSamplerOnce),
    {.cause =
         R"(Batches are ready, but their transfer (pickle, pipe, unpickle, mapping) takes much time.)",
     .rule =
         R"(over 5 % of the window is transfer: the trainer's CPU time inside next(), waiting for
  batches in transit, or unmapping the shared memory of the last batch at the loop's line (native
  samples in munmap). Start-up, and workers without an index (a new epoch, a prefetch of 1), do not
  count. If most of it is in the loader's sampler, which runs in the training process, or that takes
  more before an epoch's first batch, the finding names the sampler. With a loader that is not
  known, but other processes making batches: over 5 % of the window by samples.)",
     .fixes = R"(- Send uint8 and convert later: a quarter of the bytes.
- Fewer objects to pickle: one tensor per field instead of lists. For batches under some 100 kB one
  NumPy array, converted to a tensor after next(): it needs no shared memory.
- With torchdata's StatefulDataLoader: snapshot_every_n_steps, as the state is sent, too.
- num_workers=0, if making a batch takes less time than sending it: the model compares both.)",
     .wrong = R"(the trainer wakes up late because cores are short. Then compute.contention is also
  reported.)"});

}  // namespace stallprof
