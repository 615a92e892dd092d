// SPDX-License-Identifier: MIT
#include "analysis/findings/transform/hints.h"

#include "classify/frames.h"

namespace stallprof {
namespace {

struct Hint {
  std::string_view module, function;  // as rules match them; "" any function
  std::string_view text;
};

// The first that fits. Sources: the libraries' own performance pages.
constexpr Hint kHints[] = {
    {"PIL/ImageFile.py", "load",
     "decode at the size that is needed (Image.draft before load, for JPEG), store smaller images, "
     "or decode with a faster codec (simplejpeg, torchvision.io, Pillow-SIMD)"},
    {"PIL/Image.py", "*resize",
     "shrink with Image.draft or reduce() before resizing, a cheaper filter, smaller stored "
     "images, "
     "or Pillow-SIMD"},
    {"PIL/", "", "do it after cropping to the final size, on the batch, or before training"},
    {"torchvision/transforms/", "",
     "use transforms.v2 on uint8 tensors, after cropping, or on the batch on the device"},
    {"torch/utils/data/_utils/collate.py", "",
     "return arrays of one shape and dtype so that a batch is one copy; keep images uint8"},
    {"cv2/", "", "shrink first (INTER_AREA), use cv2.setNumThreads(0) in workers"},
    {"albumentations/", "", "crop before what is costly; keep uint8; drop probabilities to zero"},
    {"json/", "", "use orjson or msgspec, or a columnar format that is parsed once"},
    {"csv.py", "", "convert the data once to Parquet, Arrow or .npy"},
    {"pandas/", "",
     "convert the data once to Parquet or Arrow, take whole columns instead of rows, and leave "
     "frames out of the sample's path"},
    {"gzip.py", "", "store with zstd or lz4, or uncompressed where storage keeps up"},
    {"zipfile", "", "store members uncompressed, or use shards read from front to back"},
    {"pickle.py", "", "store arrays raw (.npy, Arrow, safetensors) instead of pickled objects"},
    {"h5py/", "",
     "read whole chunks, choose chunks of a sample's or a batch's shape, lighter compression"},
    {"zarr/", "", "choose chunks of a sample's or a batch's shape, lighter compression"},
    {"datasets/", "",
     "set_format('torch') or 'numpy', fetch batches instead of rows, flatten_indices() after "
     "shuffle and select"},
    {"librosa/", "", "resample once before training, compute features on the batch (torchaudio)"},
    {"soundfile.py", "", "read only the part that is used (start, stop), store at the final rate"},
    {"re.py", "", "compile the pattern once, or use a tokenizer written in native code"},
    {"numpy/", "", "work on the batch instead of the sample, in float32 or uint8, without copies"},
};

}  // namespace

std::string hintFor(const SourceLine& hot) {
  const ModulePath module = {hot.file.raw(), false};
  for (const Hint& hint : kHints)
    if (fitsModule(module, hint.module) &&
        (hint.function.empty() || fitsFunction(hot.function.raw(), hint.function)))
      return std::string(hint.text);
  return "vectorise it, use a compiled equivalent, shrink the data before it, or do it once before "
         "training";
}

}  // namespace stallprof
