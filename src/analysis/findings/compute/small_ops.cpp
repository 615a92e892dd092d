// SPDX-License-Identifier: MIT
// compute.small_ops: a step is thousands of tiny operators, and PyTorch's machinery for each of
// them takes longer than the operators do.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "analysis/facts/native_samples.h"
#include "analysis/findings/loader_setting.h"
#include "analysis/findings/overhead.h"
#include "analysis/findings/torch_version.h"
#include "classify/frames.h"

namespace stallprof {
namespace {

constexpr double kMuchMachinery = 0.30;  // of the training thread's samples on a CPU
constexpr double kSomeOfPlace = 0.10;    // of a place's: memory and Python there serve operators

// What is done for each operator, however small: finding it, checking shapes, recording it for
// backward and going through that record. Names as libtorch exports them (1.13 to 2.x); its kernels
// have others, or none.
constexpr std::array<std::string_view, 12> kMachinery = {
    "torch::autograd::*", "at::TensorIterator*",
    "at::OperandInfo::*", "at::_ops::*",
    "at::redispatch::*",  "at::internal::Opaque*",
    "at::impl::*",        "at::detail::*",
    "at::TensorBase::*",  "c10::*",
    "THPVariable*",       "torch::PythonArgs::*"};
// A kernel's loop over elements, as libtorch's own symbols have it where it is not stripped.
constexpr std::string_view kElements = "c10::function_ref::*";
constexpr std::array<std::string_view, 2> kMachineryLibraries = {"libtorch_python*", "libc10.so*"};

// NumPy's, of its random numbers too (their names have the interpreter's version behind).
constexpr std::array<std::string_view, 4> kArrayLibraries = {
    "_multiarray_umath.*", "_generator.cpython*", "mtrand.cpython*", "_common.cpython*"};

constexpr std::string_view kManyLines = "operators";  // no line that calls most of them

const AdviceDefinition kWholeTensors{
    "whole_tensors", {}, [](const AdviceContext& c) {
      const Has has = hasSince(c, kCompileSince);
      return "Work on whole tensors" +
             (c.advice.change.name == kManyLines ? "" : atLine(c.finding.where)) +
             ": use one operator for all elements instead of one per element, and no .item() or "
             "indexing of single elements in a loop (tolist() reads all at once)" +
             (has == Has::kNo
                  ? "."
                  : "; torch.compile" + ifNewEnough(has, kCompileSince) +
                        " and foreach or fused optimizers fuse the remaining small operators.") +
             " A larger batch needs no more operators.";
    }};

// Samples of native code under one line of Python; those of which no line is known are one.
struct OperatorSamples {
  double all = 0, machinery = 0;
  double support = 0;  // memory, and the interpreter
  double arrays = 0;   // NumPy's own functions
  StackId stack;
  // Where there is more of NumPy, the rest serves that: samples of operators may be of other lines.
  [[nodiscard]] double overhead() const { return machinery + (arrays > machinery ? 0 : support); }
};

class Machinery {
 public:
  explicit Machinery(const Evidence& e) : trace_(e.trace) {
    for (const LoopLineSamples& line : e.trainer.stacks.lines)
      if (makesData(line.samples)) dataLines_.insert(placeOf(line.frame));
    eachNative(trace_.thread(e.trainer.thread), e.trainer.windowInterval(),
               [&](const NativeSlice& native) { take(native); });
    for (const auto& [key, place] : places_) {
      if (place.machinery < kSomeOfPlace * place.all) continue;
      machinery_ += place.overhead();
      consider(place);
    }
    if (e.loader && e.workers() == 0)
      unknownFetching_ =
          std::clamp((e.wait - e.extract) * (all_ + fetching_) - fetching_, 0.0, all_);
  }

  // Native samples are paired with the stack seen nearest to them, in short steps often one of
  // another part: of those that must be of the fetch, by the hook's times, all that are not known
  // to be are taken off as if they were machinery.
  [[nodiscard]] Share share() const {
    SampleSum all;
    all.samples = all.squares = samples();
    return shareOf(std::max(0.0, machinery_ - unknownFetching_), all);
  }
  [[nodiscard]] double samples() const { return all_ - unknownFetching_; }
  // The user's line that calls half of the operators or more, backward and the optimizer apart;
  // none where many lines call them, or lines of another library.
  [[nodiscard]] StackId line() const { return 2 * maxSum_ >= called_ ? line_ : StackId{}; }

 private:
  using Place = std::tuple<StringId, StringId, std::uint32_t>;
  enum class Use : std::uint8_t { kOther, kOverhead, kSupport, kArrays };

  [[nodiscard]] Place placeOf(StackId stack) const {
    const StackSeen& frame = trace_.stack(stack);
    return {frame.function, frame.file, frame.line};
  }

  void take(const NativeSlice& native) {
    if (loads(native.stack)) return void(fetching_ += native.samples);
    OperatorSamples& place = places_[native.stack.none() ? Place{} : placeOf(native.stack)];
    place.stack = native.stack;
    all_ += native.samples;
    place.all += native.samples;
    const Use use = useOf(native);
    if (use == Use::kOverhead) place.machinery += native.samples;
    if (use == Use::kSupport) place.support += native.samples;
    if (use == Use::kArrays) place.arrays += native.samples;
  }

  static bool makesData(const PhaseSamples& line) {
    constexpr double kHalf = 0.5;
    return line.ratio(Phase::kExtract) + line.ratio(Phase::kTransform) + line.ratio(Phase::kLoad) >
           kHalf;
  }

  // Of a loader without workers, or of a line that makes data: its operators are not the step's. No
  // recursion: a recording may hold stacks of any depth.
  bool loads(StackId stack) {
    std::vector<StackId> passed;
    bool is = false;
    for (; !stack.none() && !is; stack = trace_.stack(stack).caller) {
      if (const auto known = loads_.find(stack); known != loads_.end()) {
        is = known->second;
        break;
      }
      passed.push_back(stack);
      const std::string_view file = trace_.text(trace_.stack(stack).file);
      is = modulePathOf(file).path.starts_with("torch/utils/data/") ||
           dataLines_.contains(placeOf(stack));
    }
    for (const StackId each : passed) loads_[each] = is;
    return is;
  }

  // A function is read once, however many samples it has.
  Use useOf(const NativeSlice& native) {
    const auto [at, isNew] = uses_.try_emplace({native.file, native.function}, Use::kOther);
    if (!isNew) return at->second;
    const std::string symbol = readableSymbol(trace_.text(native.function));
    const std::string_view file = trace_.text(native.file);
    const NativeClass is = nativeClass(file, symbol);
    if (fitsPattern(symbol, kElements))
      at->second = Use::kOther;
    else if (fitsAny(symbol, kMachinery) || fitsAny(baseName(file), kMachineryLibraries))
      at->second = Use::kOverhead;
    else if (fitsAny(baseName(file), kArrayLibraries))
      at->second = Use::kArrays;
    else if (is == NativeClass::kRuntime || is == NativeClass::kLock ||
             is == NativeClass::kInterpreter)
      at->second = Use::kSupport;
    return at->second;
  }

  void consider(const OperatorSamples& place) {
    StackId caller = place.stack;
    ModulePath module;
    bool behind = false;
    for (; !caller.none(); caller = trace_.stack(caller).caller) {
      module = modulePathOf(trace_.text(trace_.stack(caller).file));
      if (module.users || !module.path.starts_with("torch/")) break;
      behind = behind || module.path.starts_with("torch/autograd/") ||
               module.path.starts_with("torch/optim/");
    }
    if (caller.none() || behind) return;
    const double weight = place.overhead();
    called_ += weight;
    // Of a line with less of it samples of the lines beside it may be taken for its own.
    if (!module.users || place.machinery < kMuchMachinery * place.all) return;
    const StackSeen& frame = trace_.stack(caller);
    double& sum = lines_[{frame.file, frame.line}];
    sum += weight;
    if (sum <= maxSum_) return;
    maxSum_ = sum;
    line_ = caller;
  }

  const Trace& trace_;
  std::map<Place, OperatorSamples> places_;
  std::set<Place> dataLines_;
  std::map<std::tuple<StringId, std::uint32_t>, double> lines_;
  std::map<std::pair<StringId, StringId>, Use> uses_;
  std::map<StackId, bool> loads_;
  double all_ = 0, machinery_ = 0;
  double called_ = 0, maxSum_ = 0;  // of machinery_: at known lines, at the line with most of it
  double fetching_ = 0, unknownFetching_ = 0;  // samples
  StackId line_;
};

Maybe<Finding> smallOps(const Evidence& e) {
  // The thread launches ahead of it: what it saves of that gains nothing.
  if (e.device.timeline && e.device.bound()) return {};
  const Machinery machinery(e);
  const Share share = machinery.share();
  if (machinery.samples() <= 0 || share.low <= kMuchMachinery) return {};
  // Of its CPU time: what it was blocked or without a core for in the step is none of it.
  const double ran = e.trainerBlockedKnown ? 1 - e.trainerBlocked - e.starved : 1;
  const double ofWindow = share.value * std::min(e.compute, ran);
  if (ofWindow <= kNotable) return {};
  Finding f = overheadFinding(e, ofWindow, "The step consists of many tiny operators");
  if (share.high - share.low > 0.20) f.confidence = lowered(f.confidence);
  // Threads that make batches slow the same operators: without them there is less to save.
  const bool shared = producersHoldLock(e);
  if (e.device.estimated || shared) f.confidence = std::min(f.confidence, Confidence::kMedium);
  addEvidence(f,
              "{} of the CPU samples of the training step are in PyTorch's overhead per operator: "
              "dispatch, autograd, memory",
              {ratioWord(share.value)});
  addIntervalEvidence(f, share, machinery.samples());
  if (shared)
    addEvidence(f, "threads that make batches hold the GIL while the training thread waits for it",
                {});
  Advice::Change change{"code", std::string(kManyLines), "one an element", "one for all"};
  if (!machinery.line().none()) {
    f.where = f.hot = lineOf(e.trace, machinery.line());
    change.name = nameOf(f.where);
    addEvidence(f, "most operators are called at {}", {textWord(change.name)});
  }
  return withAdvice(f, {adviceOf(kWholeTensors, std::move(change), withoutHalf(e, ofWindow))});
}

}  // namespace

extern const FindingDefinition kSmallOps(
    "compute.small_ops", smallOps, offers(kWholeTensors),
    within("compute.launch_bound", "compute.python_overhead"),
    {.cause =
         R"(A step consists of thousands of tiny operators. PyTorch's overhead for each of them, forward
  and backward, takes longer than the operators themselves.)",
     .rule =
         R"(over 30 % of the training thread's native samples are overhead (at the low end of a 90 %
  interval), without those of its loader and of lines of the loop that make data. This is dispatch,
  shape checks, autograd's records and engine, and memory and Python at lines with such operators.
  Confidence is medium at most where the thread waits for the GIL, which threads that make batches
  hold: they slow the same operators.)",
     .fixes = R"(- Operators on whole tensors instead of a loop over elements.
- Read values once (tolist()), not one by one (item()).
- torch.compile, foreach and fused optimizers; larger batches.)",
     .wrong = R"(a libtorch without symbols does not show this overhead; the finding then does not
  fire. A small model with small batches is not an error, but larger batches still make it faster.)"});

}  // namespace stallprof
