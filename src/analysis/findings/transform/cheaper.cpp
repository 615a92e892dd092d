// SPDX-License-Identifier: MIT
#include <algorithm>
#include <utility>

#include "analysis/findings/framework.h"
#include "analysis/findings/loader_setting.h"
#include "analysis/findings/transform/batches.h"
#include "base/units.h"
#include "classify/frames.h"
#include "classify/rule_table.h"

namespace stallprof {

extern const AdviceDefinition kOfflinePreprocess{
    "offline_preprocess",
    "Do the work of every sample once: store images at the model's input size, tokenised text, "
    "decoded audio. This is possible for every operation before the first random one."};
extern const AdviceDefinition kWholeBatches{
    "whole_batches", {}, [](const AdviceContext& c) {
      const Maybe<std::int64_t> size = c.loader ? c.loader->batchSize : std::nullopt;
      return "Index the tensors once per batch, not once per sample: "
             "DataLoader(dataset, batch_size=None, sampler=BatchSampler(SAMPLER, " +
             (size ? std::to_string(*size) : "batch_size") +
             ", drop_last)) gives the same batches, with SAMPLER the loader's own: "
             "RandomSampler(dataset) of shuffle=True, SequentialSampler(dataset) without it, "
             "DistributedSampler(dataset) with several ranks.";
    }};
extern const AdviceDefinition kReadOnce{
    "read_once", {}, [](const AdviceContext& c) {
      if (!c.analysis.run.loaders.empty() && frameworkOf(c) == Framework::kTensorFlow)
        return std::string(
            "Call cache() on the pipeline, after its last operation without randomness and before "
            "shuffle(): the first pass then keeps in memory what is made, or in a file that it "
            "names.");
      return "Read the data once, before the first step, and keep what is made of it in memory" +
             atLine(c.finding.where) +
             ". Where that does not fit, store it once in a form of which a batch is read alone: a "
             "memory-mapped array (.npy), or uncompressed chunks of a batch.";
    }};

namespace {

// Of a batch's CPU what PyTorch takes to gather its samples one by one, where they are rows of
// tensors; 0: they are not, or little of it is.
double gathering(const Evidence& e) {
  constexpr double kEnough = 0.15;
  double gathered = 0, rows = 0;
  for (const FunctionSamples& f : e.trainer.stacks.functions) {
    if (f.side != Side::kProducer || f.hot.none()) continue;
    const StackSeen& frame = e.trace.stack(f.hot);
    if (!fitsModule(modulePathOf(e.trace.text(frame.file)), "torch/utils/data/")) continue;
    gathered += f.running;
    if (e.trace.text(frame.function).starts_with("TensorDataset.")) rows += f.running;
  }
  const SampleSum& all = e.trainer.stacks.makingRunning.all;
  return shareOf(rows, all).low > kEnough ? std::min(1.0, gathered / all.samples) : 0;
}

// Of making data the part that reads and parses: the same bytes give the same each time.
double parsing(const Evidence& e) {
  double all = 0, parsed = 0;
  for (const FunctionSamples& f : e.trainer.stacks.functions) {
    const bool reads = f.phase == Phase::kExtract;
    if (!reads && f.phase != Phase::kTransform) continue;
    all += f.samples;
    const PhaseRule* rule = RuleTable::builtIn().find(f.rule);
    if (reads || (rule && rule->parses)) parsed += f.samples;
  }
  return all > 0 ? parsed / all : 0;
}

std::string nameOf(const Rereads& read) {
  const std::string name = escapeTerminal(read.path.substr(read.path.rfind('/') + 1), 60);
  return read.files == 1 ? name : name + " and " + countOf(read.files - 1, "other file");
}

}  // namespace

// All of them fit, once for each rank, with a fifth to spare.
Maybe<Advice> readOnce(const Evidence& e) {
  const Maybe<Rereads>& read = e.run.rereads;
  const Maybe<std::int64_t> room = e.run.memoryRoom();
  if (!read || !room || read->bytes * e.ranks > 0.8 * static_cast<double>(*room)) return {};
  // A tenth of reading is left for copying; what else there is may be random, as always.
  const double parsed = parsing(e), rest = 1 - parsed;
  return adviceOf(
      kReadOnce, {"code", "reading", numberText(read->times) + " times", "once"},
      predictMade(e, 0.1 * parsed + 0.5 * rest, 0.5 * parsed + 0.9 * rest, 0,
                  "the files that it holds open are its data, and a tenth of reading and parsing "
                  "remains, and half of what else makes data"),
      bytesText(read->bytes) + " of files" + (e.ranks > 1 ? " for each rank" : "") +
          ", often more as arrays; " + bytesText(static_cast<double>(*room)) + " of memory free");
}

Advice cheaperBatches(const Evidence& e) {
  // Measured with rows of one to 12,000 numbers, 512 a batch: 0.14 to 0.45 of the time is left by
  // the loader alone, 0.6 between the steps of a training on a CPU, whose caches these have filled.
  if (const double part = gathering(e); part > 0)
    return adviceOf(
        kWholeBatches, {"code", "batches", "sample by sample", "whole"},
        predictScaled(e, &PipelineSettings::cpuScale, 1 - 0.5 * part, 1 - 0.3 * part,
                      1 - 0.87 * part,
                      "half of the time to gather samples remains, at best an eighth"),
        "collate_fn gets the whole batch; with another sampler, ranks train on the same samples");
  if (auto once = readOnce(e)) return std::move(*once);
  // How much of the CPU is before the first random operation is not known: half, in wide bounds.
  return adviceOf(
      kOfflinePreprocess, {"data", "dataset", "raw", "preprocessed"},
      predictScaled(
          e, &PipelineSettings::cpuScale, 0.5, 0.9, 0.1,
          "half of the CPU time of a batch, at most nine tenths, can be moved before training"),
      "a second copy of the data, often larger; only operations without randomness can move");
}

void addRereadEvidence(Finding& f, const Evidence& e) {
  if (const Maybe<Rereads>& read = e.run.rereads)
    addEvidence(f, "reads {} times the size of what it holds open: {}, {}",
                {timesWord(read->times), textWord(nameOf(*read)), bytesWord(read->bytes)});
}

}  // namespace stallprof
