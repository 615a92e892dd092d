// SPDX-License-Identifier: MIT
// transform.slow_op: one function, or the calls of one library, hold much of the CPU time of
// batches.
#include <utility>

#include "analysis/findings/loader_setting.h"
#include "analysis/findings/transform/batches.h"
#include "analysis/findings/transform/library_hints.h"
#include "classify/frames.h"
#include "classify/native_work.h"

namespace stallprof {
namespace {

constexpr double kMuchOfCpu = 0.30;
constexpr double kHalf = 0.5;   // of its CPU
constexpr double kWide = 0.10;  // an interval this far to a side costs a level of confidence

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
  if (const LibraryHint* hint = libraryHint(module, hot.function.raw()))
    return std::string(hint->text);
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

// It works at nothing: it waits for its turn, or has just got it.
bool locks(const SourceLine& hot) {
  const ModulePath module = modulePathOf(hot.file.raw());
  return fitsModule(module, "multiprocessing/synchronize.py") || fitsModule(module, "threading.py");
}

// Of these samples those that list directories.
double listing(const Evidence& e, const HotQuery& query) {
  double samples = 0;
  for (const FunctionSamples& f : e.trainer.stacks.functions) {
    if (f.hot.none()) continue;
    const StackSeen& frame = e.trace.stack(f.hot);
    const ModulePath module = modulePathOf(e.trace.text(frame.file));
    if (isOneOf(kListers, module, e.trace.text(frame.function))) samples += counted(f, query);
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

// How much faster it can be made is not known: twice, within a tenth and ten times. Calls that cost
// by themselves are replaced: a window of a pandas frame (slice, mean, standard deviation) takes 26
// times as long as one of an array, measured, and a row 130 times.
Prediction cheaper(const Evidence& e, double share, bool calls) {
  const auto left = [share](double part) { return 1 - share * (1 - part); };
  if (calls)
    return predictScaled(e, &PipelineSettings::cpuScale, left(0.2), left(0.5), left(0.05),
                         "a fifth of its time is left with arrays, at best a twentieth");
  return predictScaled(e, &PipelineSettings::cpuScale, left(0.5), left(0.9), left(0.1),
                       "it can be made twice as fast, at best ten times as fast");
}

// All samples of those. Of the training thread's as many are alike as of all of its own.
SampleSum samplesOf(const Evidence& e, const HotQuery& query) {
  if (query.side == Side::kProducer) return e.trainer.stacks.makingRunning.all;
  SampleSum all;
  const SampleSum& trainer = e.trainer.stacks.trainer;
  all.samples = allOf(e, query);
  all.squares = trainer.samples > 0 ? all.samples * trainer.squares / trainer.samples : 0;
  return all;
}

// What takes much of the CPU time to make batches.
struct Slow {
  HotFunction op;
  Share share;
  bool lists = false;   // it lists directories, by all functions that do
  std::string library;  // all of it, `op` is what is called most; empty: `op` alone
};

Maybe<Slow> slowest(const Evidence& e, const HotQuery& query, const SampleSum& all) {
  const Maybe<HotFunction> op = hottest(e, query);
  // What runs in a loader's own next() has no Python frame.
  if (!op || 2 * op->handing > op->samples || locks(op->hot)) return {};
  if (const Share listed = shareOf(listing(e, query), all); listed.low > kMuchOfCpu)
    return Slow{*op, listed, true, {}};
  if (const Share share = shareOf(op->samples, all); share.low > kMuchOfCpu)
    return Slow{*op, share, false, {}};
  const Maybe<SpreadLibrary> spread = spreadLibrary(e);
  const Share share = spread ? shareOf(spread->called.samples, all) : Share{};
  if (share.low <= kMuchOfCpu) return {};
  return Slow{spread->called, share, false, spread->name};
}

std::string titleOf(const Slow& slow) {
  if (slow.lists) return "Directories are listed again and again to make batches";
  if (!slow.library.empty()) return "Calls of one library take much of the time to make batches";
  return "One function takes much of the time to make batches";
}

std::string_view evidenceOf(const Slow& slow) {
  if (slow.lists) return "{} of the CPU time to make batches lists directories, most in {}";
  if (!slow.library.empty()) return "{} of the CPU time to make batches is in {}, most below {}";
  return "{} of the CPU time to make batches is in {}";
}

Maybe<Finding> slowOp(const Evidence& e) {
  const HotQuery query = makers(e);
  const SampleSum all = samplesOf(e, query);
  const Maybe<Slow> slow = slowest(e, query, all);
  const bool inLoop = query.side == Side::kTrainer;  // transform.in_process says what is read again
  if (!slow || (inLoop && inEnvironment(e, Phase::kTransform))) return {};
  const Share& share = slow->share;
  const HotFunction* const op = &slow->op;
  const double ofWindow = share.value * e.transform;
  if (ofWindow <= kNotable) return {};
  Finding f = loaderFinding(e, ofWindow, titleOf(*slow));
  f.where = op->where;
  if (slow->lists || 2 * op->reading > op->samples) f.phase = Phase::kExtract;
  point(f, *op);
  if (share.high - share.value > kWide || share.value - share.low > kWide)
    f.confidence = lowered(f.confidence);
  if (slow->library.empty())
    addEvidence(f, evidenceOf(*slow), {ratioWord(share.value), textWord(nameOf(*op))});
  else
    addEvidence(f, evidenceOf(*slow),
                {ratioWord(share.value), textWord(slow->library), textWord(nameOf(*op))});
  addIntervalEvidence(
      f, share, all.samples,
      op->processes == 1 ? " in 1 process" : " in " + std::to_string(op->processes) + " processes");
  if (!op->rule.empty()) addEvidence(f, "by rule {}", {textWord(op->rule)});
  if (!inLoop) addRereadEvidence(f, e);
  if (slow->lists)
    return withAdvice(
        f, {adviceOf(kListOnce, {"code", "directory", "listed again and again", "listed once"},
                     predictScaled(e, &PipelineSettings::cpuScale, 1 - share.value * 0.98,
                                   1 - share.value * 0.5, 1 - share.value,
                                   "all samples are of a few directories"),
                     "files that are added later are not seen")});
  return withAdvice(
      f, {openOnce(e, *op, share.value), inLoop ? Maybe<Advice>() : readOnce(e),
          adviceOf(kCheaperOp,
                   {"code", slow->library.empty() ? nameOf(op->hot) : slow->library, "", ""},
                   cheaper(e, share.value, !slow->library.empty()),
                   "batches change if the cheaper way rounds or samples differently")});
}

}  // namespace

extern const FindingDefinition kSlowOp(
    "transform.slow_op", slowOp, offers(kCheaperOp, kOpenOnce, kReadOnce, kListOnce),
    within("transform.in_process", "transform.cpu_saturated", "transform.too_few_workers"),
    {.cause = R"(One function, or the many short calls of one library, take a large part of the CPU
  time that makes batches. Optimize it first.)",
     .rule =
         R"(one function is the innermost Python frame in over 30 % of the samples on a CPU that
  make batches (at the low end of a 90 % interval), or a library of data frames is in as many, and
  this is over 5 % of the window. They are the loader's or, without a known one, the training
  thread's. Time in C below a Python function counts for that function.)",
     .fixes =
         R"(- What opens an archive or a database: once in each worker. What lists a directory: once.
- Files that are read over and over: once. Vectorise it or use a compiled equivalent.
- Data frames: take the columns as arrays once, and cut samples out of these.
- Do it on the batch, on the device, or before training.
- Reduce the data early: crop or resize before expensive operations.)",
     .wrong = R"(samples are in the function for another reason, such as a lock. If a line of your
  own code calls C directly, this line is named: check the function that it calls.)"});

}  // namespace stallprof
