// SPDX-License-Identifier: MIT
#include "analysis/findings/transform/library_hints.h"

#include <algorithm>
#include <map>
#include <utility>

namespace stallprof {
namespace {

// The first that fits. Sources: the libraries' own performance pages.
constexpr LibraryHint kHints[] = {
    {"PIL/ImageFile.py", "load",
     "decode at the required size (Image.draft before load, for JPEG), store smaller images, "
     "or decode with a faster codec (simplejpeg, torchvision.io, Pillow-SIMD)"},
    {"PIL/Image.py", "*resize",
     "shrink with Image.draft or reduce() before resizing, a cheaper filter, smaller stored "
     "images, "
     "or Pillow-SIMD"},
    {"PIL/", "", "do it after cropping to the final size, on the batch, or before training"},
    {"torchvision/transforms/", "",
     "use transforms.v2 on uint8 tensors, after cropping, or on the batch on the device"},
    {"torch/utils/data/dataset.py", "TensorDataset.*",
     "take each batch from the tensors by one index (batch_size=None, and a BatchSampler as "
     "sampler)"},
    {"torch/utils/data/_utils/collate.py", "",
     "return arrays of one shape and dtype so that a batch is one copy; keep images uint8"},
    {"cv2/", "", "shrink first (INTER_AREA), use cv2.setNumThreads(0) in workers"},
    {"albumentations/", "",
     "crop before expensive operations; keep uint8; set probabilities to zero"},
    {"json/", "", "use orjson or msgspec, or a columnar format that is parsed once"},
    {"csv.py", "", "convert the data once to Parquet, Arrow or .npy"},
    {"pandas/io/", "", "convert the data once to Parquet or Arrow, or read them once"},
    {"pandas/", "",
     "take its columns as arrays once (to_numpy), and cut rows and samples out of these: each call "
     "on a data frame takes long, however few rows it has",
     true},
    {"polars/", "", "take its columns as arrays once (to_numpy), and cut samples out of these",
     true},
    {"xarray/", "", "take its variables as arrays once (.values), and cut samples out of these",
     true},
    {"gzip.py", "", "store with zstd or lz4, or uncompressed if storage is fast enough"},
    {"zipfile", "", "store members uncompressed, or use shards read from front to back"},
    {"pickle.py", "", "store arrays raw (.npy, Arrow, safetensors) instead of pickled objects"},
    {"h5py/", "",
     "read whole chunks, choose chunks of a sample's or a batch's shape, lighter compression"},
    {"zarr/", "", "choose chunks of a sample's or a batch's shape, lighter compression"},
    {"datasets/", "",
     "set_format('torch') or 'numpy', fetch batches instead of rows, flatten_indices() after "
     "shuffle and select",
     true},
    {"librosa/", "", "resample once before training, compute features on the batch (torchaudio)"},
    {"soundfile.py", "", "read only the used part (start, stop), store at the final rate"},
    {"re.py", "", "compile the pattern once, or use a tokenizer written in native code"},
    {"numpy/", "", "work on the batch instead of the sample, in float32 or uint8, without copies"},
};

}  // namespace

const LibraryHint* libraryHint(const ModulePath& module, std::string_view function) {
  for (const LibraryHint& hint : kHints)
    if (fitsModule(module, hint.module) &&
        (hint.function.empty() || fitsFunction(function, hint.function)))
      return &hint;
  return nullptr;
}

namespace {

// The frame at which a library is called whose time is spread, and its hint; null: none is.
std::pair<StackId, const LibraryHint*> spreadCall(const Trace& trace, const FunctionSamples& f) {
  std::pair<StackId, const LibraryHint*> outermost{};
  for (StackId at = f.hot; !at.none() && at != f.user; at = trace.stack(at).caller) {
    const StackSeen& frame = trace.stack(at);
    const LibraryHint* hint =
        libraryHint(modulePathOf(trace.text(frame.file)), trace.text(frame.function));
    if (hint) outermost = {at, hint->eachCall ? hint : nullptr};
  }
  return outermost;
}

}  // namespace

HotQuery makers(const Evidence& e) {
  if (!e.trainer.withoutFetches() || !e.trainer.threads.empty())
    return {Side::kProducer, {}, {}, HotQuery::Of::kRunning};
  return {Side::kTrainer, Phase::kTransform, {}, HotQuery::Of::kRunning};
}

Maybe<SpreadLibrary> spreadLibrary(const Evidence& e) {
  const HotQuery query = makers(e);
  std::map<const LibraryHint*, std::map<StackId, HotFunction>> libraries;
  std::map<const LibraryHint*, double> samples;
  for (const FunctionSamples& f : e.trainer.stacks.functions) {
    const auto [call, hint] = spreadCall(e.trace, f);
    if (!hint || counted(f, query) <= 0) continue;
    HotFunction& sum = libraries[hint][call];
    if (sum.samples == 0)
      sum = {lineOf(e.trace, call), lineOf(e.trace, f.user), f.rule, 0, f.processes, 0, 0};
    sum.samples += counted(f, query);
    samples[hint] += counted(f, query);
  }
  const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto largest = std::max_element(samples.begin(), samples.end(), less);
  if (largest == samples.end()) return {};
  const auto& calls = libraries[largest->first];
  HotFunction out = std::max_element(calls.begin(), calls.end(), [](const auto& a, const auto& b) {
                      return a.second.samples < b.second.samples;
                    })->second;
  out.samples = largest->second;
  const std::string_view module = largest->first->module;
  return SpreadLibrary{std::string(module.substr(0, module.find('/'))), std::move(out)};
}

}  // namespace stallprof
