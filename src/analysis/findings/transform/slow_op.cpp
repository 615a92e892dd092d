// SPDX-License-Identifier: MIT
// transform.slow_op: one function holds much of the producers' CPU.
#include <utility>

#include "analysis/findings/loader_setting.h"
#include "analysis/findings/transform/batches.h"
#include "classify/frames.h"
#include "classify/native_work.h"

namespace stallprof {
namespace {

constexpr double kMuchOfCpu = 0.30;
constexpr double kHalf = 0.5;   // of its CPU
constexpr double kWide = 0.10;  // an interval this far to a side costs a level of confidence

struct Hint {
  std::string_view module, function;  // as rules match them; "" any function
  std::string_view text;
};

// The first that fits. Sources: the libraries' own performance pages.
constexpr Hint kHints[] = {
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
    {"pandas/", "",
     "convert the data once to Parquet or Arrow, take whole columns instead of rows, and use no "
     "data frames per sample"},
    {"gzip.py", "", "store with zstd or lz4, or uncompressed if storage is fast enough"},
    {"zipfile", "", "store members uncompressed, or use shards read from front to back"},
    {"pickle.py", "", "store arrays raw (.npy, Arrow, safetensors) instead of pickled objects"},
    {"h5py/", "",
     "read whole chunks, choose chunks of a sample's or a batch's shape, lighter compression"},
    {"zarr/", "", "choose chunks of a sample's or a batch's shape, lighter compression"},
    {"datasets/", "",
     "set_format('torch') or 'numpy', fetch batches instead of rows, flatten_indices() after "
     "shuffle and select"},
    {"librosa/", "", "resample once before training, compute features on the batch (torchaudio)"},
    {"soundfile.py", "", "read only the used part (start, stop), store at the final rate"},
    {"re.py", "", "compile the pattern once, or use a tokenizer written in native code"},
    {"numpy/", "", "work on the batch instead of the sample, in float32 or uint8, without copies"},
};

// What usually makes a library's function cheaper, as the rest of a sentence: "decode at the size
// that is needed (Image.draft), ...". Of the user's own code, what usually does.
std::string hintFor(const Finding& f) {
  const SourceLine& hot = f.hot;
  const ModulePath module = {hot.file.raw(), false};
  if (f.native.ratio > kHalf && f.native.function.raw() == "getdents64")
    return "most of that lists a directory. List it once, when the data set is made";
  // C that the line calls, as a database: the page cache has the data, and the kernel copies them.
  if (f.native.ratio > kHalf && kernelWork(f.native.function.raw()).phase == Phase::kExtract)
    return "most of that is the kernel's copying of file data. Read less, as by an index where a "
           "database is searched, or map the file";
  for (const Hint& hint : kHints)
    if (fitsModule(module, hint.module) &&
        (hint.function.empty() || fitsFunction(hot.function.raw(), hint.function)))
      return std::string(hint.text);
  return "vectorise it, use a compiled equivalent, shrink the data before it, or do it once before "
         "training";
}

// The user's line, where the function's own is another.
std::string calledAt(const Finding& f) {
  const bool same = f.where.file == f.hot.file && f.where.line == f.hot.line;
  return same ? std::string() : atLine(f.where);
}

const AdviceDefinition kCheaperOp{"cheaper_op", {}, [](const AdviceContext& c) {
                                    return "Make " + c.advice.change.name +
                                           " cheaper, or call it less" + calledAt(c.finding) +
                                           ": " + hintFor(c.finding) + ".";
                                  }};

// What lists directories, or seeks names in such a list: as long for one file as for all.
constexpr std::pair<std::string_view, std::string_view> kListers[] = {
    {"glob.py", ""},
    {"os.py", "walk"},
    {"os.py", "_walk"},
    {"os.py", "scandir"},
    {"os.py", "listdir"},
    {"fnmatch.py", ""},
    {"pathlib.py", "*glob*"},
    {"pathlib/", "*glob*"},
    {"pathlib.py", "*_iterate_directories"},
    {"pathlib.py", "*_select_from"},
    {"pathlib.py", "*iterdir"},
    {"pathlib/", "*iterdir"},
    {"pathlib/", "*_select*"},
};

const AdviceDefinition kListOnce{
    "list_once", {}, [](const AdviceContext& c) {
      return "List the directory once, when the data set is made, not for each sample" +
             atLine(c.finding.where) +
             ": keep the paths, by name, in a list or a dict of the data set.";
    }};

// What opens an archive or a database and reads its directory: as long for one member as for all.
constexpr std::pair<std::string_view, std::string_view> kOpeners[] = {
    {"zipfile.py", "ZipFile.__init__"},
    {"zipfile.py", "*._RealGetContents"},
    {"zipfile.py", "_EndRecData*"},
    {"zipfile/", "ZipFile.__init__"},
    {"zipfile/", "*._RealGetContents"},
    {"zipfile/", "_EndRecData*"},
    {"tarfile.py", "TarFile.__init__"},
    {"tarfile.py", "TarFile.next"},
    {"tarfile.py", "TarFile._load"},
    {"tarfile.py", "TarInfo.*"},
    {"h5py/_hl/files.py", "File.__init__"},
    {"h5py/_hl/files.py", "make_fid"},
    {"pyarrow/parquet/core.py", "ParquetFile.__init__"},
};

const AdviceDefinition kOpenOnce{
    "open_once", {}, [](const AdviceContext& c) {
      return "Open the archive once in each worker, not for each sample" + atLine(c.finding.where) +
             ": keep it in the data set, and open it in the first __getitem__ that finds none.";
    }};

template <class Functions>
bool isOneOf(const Functions& functions, const ModulePath& module, std::string_view name) {
  for (const auto& [file, function] : functions)
    if (fitsModule(module, file) && (function.empty() || fitsFunction(name, function))) return true;
  return false;
}
bool opens(const SourceLine& hot) {
  return isOneOf(kOpeners, ModulePath{hot.file.raw(), false}, hot.function.raw());
}

// Of the producers' samples on a CPU: those that list directories.
double listing(const Evidence& e) {
  double samples = 0;
  for (const FunctionSamples& f : e.trainer.stacks.functions) {
    if (f.side != Side::kProducer || f.hot.none()) continue;
    const StackSeen& frame = e.trace.stack(f.hot);
    const ModulePath module = modulePathOf(e.trace.text(frame.file));
    if (isOneOf(kListers, module, e.trace.text(frame.function))) samples += f.running;
  }
  return samples;
}

Maybe<Advice> openOnce(const Evidence& e, const HotFunction& op, double share) {
  if (!opens(op.hot)) return {};
  return adviceOf(kOpenOnce, {"code", "archive", "opened for each sample", "opened once"},
                  predictScaled(e, &PipelineSettings::cpuScale, 1 - share * 0.95, 1 - share * 0.5,
                                1 - share, "all samples are of a few archives"),
                  "a file that is opened before workers fork shares its position with them");
}

// How much faster it can be made is not known: twice, within a tenth and ten times.
Prediction cheaper(const Evidence& e, double share) {
  return predictScaled(e, &PipelineSettings::cpuScale, 1 - share * 0.5, 1 - share * 0.1,
                       1 - share * 0.9, "it can be made twice as fast, at best ten times as fast");
}

Maybe<Finding> slowOp(const Evidence& e) {
  const SampleSum& all = e.trainer.stacks.makingRunning.all;
  const Maybe<HotFunction> op = hottest(e, {Side::kProducer, {}, {}, HotQuery::Of::kRunning});
  // What runs in a loader's own next() has no Python frame.
  if (!op || 2 * op->handing > op->samples) return {};
  const Share listed = shareOf(listing(e), all);
  const bool lists = listed.low > kMuchOfCpu;
  const Share share = lists ? listed : shareOf(op->samples, all);
  const double ofWindow = share.value * e.transform;
  if (share.low <= kMuchOfCpu || ofWindow <= kNotable) return {};
  Finding f = loaderFinding(e, ofWindow,
                            lists ? "Directories are listed again and again to make batches"
                                  : "One function takes much of the time to make batches");
  f.where = op->where;
  if (lists || 2 * op->reading > op->samples) f.phase = Phase::kExtract;
  point(f, *op);
  if (share.high - share.value > kWide || share.value - share.low > kWide)
    f.confidence = lowered(f.confidence);
  addEvidence(f,
              lists ? "{} of the CPU time to make batches lists directories, most in {}"
                    : "{} of the CPU time to make batches is in {}",
              {ratioWord(share.value), textWord(nameOf(*op))});
  addIntervalEvidence(
      f, share, all.samples,
      op->processes == 1 ? " in 1 process" : " in " + std::to_string(op->processes) + " processes");
  if (!op->rule.empty()) addEvidence(f, "by rule {}", {textWord(op->rule)});
  addRereadEvidence(f, e);
  if (lists)
    return withAdvice(
        f, {adviceOf(kListOnce, {"code", "directory", "listed again and again", "listed once"},
                     predictScaled(e, &PipelineSettings::cpuScale, 1 - share.value * 0.98,
                                   1 - share.value * 0.5, 1 - share.value,
                                   "all samples are of a few directories"),
                     "files that are added later are not seen")});
  return withAdvice(
      f, {openOnce(e, *op, share.value), readOnce(e),
          adviceOf(kCheaperOp, {"code", nameOf(op->hot), "", ""}, cheaper(e, share.value),
                   "batches change if the cheaper way rounds or samples differently")});
}

}  // namespace

extern const FindingDefinition kSlowOp(
    "transform.slow_op", slowOp, offers(kCheaperOp, kOpenOnce, kReadOnce, kListOnce),
    within("transform.in_process", "transform.cpu_saturated", "transform.too_few_workers"),
    {.cause = R"(One function takes a large part of the producers' CPU time. Optimize it first.)",
     .rule =
         R"(one function is the innermost Python frame in over 30 % of the producers' samples on a
  CPU (at the low end of a 90 % interval), and this is over 5 % of the window. Time in C below a
  Python function counts for that function.)",
     .fixes =
         R"(- What opens an archive or a database: once in each worker. What lists a directory: once.
- Files that are read over and over: once. Vectorise it or use a compiled equivalent.
- Do it on the batch, on the device, or before training.
- Reduce the data early: crop or resize before expensive operations.)",
     .wrong = R"(samples are in the function for another reason, such as a lock. If a line of your
  own code calls C directly, this line is named: check the function that it calls.)"});

}  // namespace stallprof
