// SPDX-License-Identifier: MIT
// compute.recompilation: the step is compiled, or traced, again and again.
#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/facts/source_lines.h"
#include "analysis/findings/hot.h"
#include "analysis/findings/loader_setting.h"
#include "analysis/findings/overhead.h"

namespace stallprof {
namespace {

// Of one function, after its first: fewer may be a last small batch.
constexpr double kMinTimes = 3;
constexpr double kManyTimes = 10;  // as many are no chance
// What steps take without it falls, too, where it holds most of the time. Measured: 3.06x to 3.68x
// at two thirds of the window, of which arithmetic alone makes 3.03x (the ablations of jax_shapes
// in reports/accuracy.md).
constexpr double kMoreLeaves = 1.15;
constexpr double kMaxShare = 0.98;  // that can leave: what was compiled runs, too

std::string fewerShapesText(const AdviceContext& c) {
  const std::string& by = c.advice.change.name;
  const std::string shapes = "Use few input shapes for the compiled function" +
                             atLine(c.finding.where) +
                             ": pad or cut batches to one of a few sizes, mask the padding, and "
                             "drop the last, smaller batch. ";
  if (by == "tf.function")
    return shapes +
           "Or declare the dimensions that change (input_signature with None, "
           "reduce_retracing=True), pass tensors instead of Python numbers, and create the "
           "tf.function once, outside the loop.";
  if (by == "torch.compile")
    return shapes +
           "Or declare the dimensions that change (torch.compile(dynamic=True), "
           "torch._dynamo.mark_dynamic); "
           "TORCH_LOGS=recompiles names the guard that failed.";
  return shapes +
         "Call jax.jit once, outside the loop, and make static_argnums only of arguments with few "
         "values.";
}

const AdviceDefinition kFewerShapes{"fewer_shapes", {}, fewerShapesText};

// How often a function was compiled at a line, by the spans that the hook reports.
struct Compilation {
  int times = 0;  // in the window, after the first of the run
  double seconds = 0;
  bool begun = false;
  const Timed<PhaseSpan>* latest = nullptr;
};

// "jax.compile update: x float32[8] after float32[4]": what was done, to what, why.
struct SpanName {
  std::string_view act, function, why;
  explicit SpanName(std::string_view name) {
    const std::size_t space = std::min(name.find(' '), name.size());
    act = name.substr(0, space);
    const std::string_view rest = name.substr(std::min(space + 1, name.size()));
    const std::size_t colon = std::min(rest.find(": "), rest.size());
    function = rest.substr(0, colon);
    why = rest.substr(std::min(colon + 2, rest.size()));
  }
  [[nodiscard]] bool compiles() const { return act.ends_with(".compile"); }
};

class Compilations {
 public:
  explicit Compilations(const Evidence& e) {
    const Intervals known = e.trainer.rowsKnown();
    of_ = stallprof::seconds(lengthIn(known, e.trainer.windowInterval()));
    for (const auto& span : e.trace.spans) {
      if (span.data.thread != e.trainer.thread || span.data.source != SpanSource::kHook ||
          span.data.phase != Phase::kCompute)
        continue;
      const SpanName name(e.trace.text(span.data.name));
      Compilation& c = functions_[{name.function, span.data.file, span.data.line}];
      // Traced and lowered for the first time it is as well until it was compiled once.
      const double inWindow = stallprof::seconds(lengthIn(known, intervalOf(span)));
      if (c.begun) c.seconds += inWindow;
      if (name.compiles()) {
        c.times += c.begun && inWindow > 0;
        c.begun = true;
        c.latest = &span;
      }
      any_ = true;
    }
    for (const auto& [key, c] : functions_) {
      if (c.times < kMinTimes) continue;
      seconds_ += c.seconds;
      times_ += c.times;
      if (!longest_ || c.seconds > longest_->seconds) longest_ = &c;
    }
  }
  Compilations(const Compilations&) = delete;
  Compilations& operator=(const Compilations&) = delete;

  [[nodiscard]] bool any() const { return any_; }
  [[nodiscard]] double share() const { return of_ > 0 ? std::min(kMaxShare, seconds_ / of_) : 0; }
  [[nodiscard]] int times() const { return times_; }
  [[nodiscard]] const Compilation* longest() const { return longest_; }

 private:
  std::map<std::tuple<std::string_view, StringId, std::uint32_t>, Compilation> functions_;
  const Compilation* longest_ = nullptr;
  double seconds_ = 0, of_ = 0;  // of so many of the window: in long runs, of its ends
  int times_ = 0;
  bool any_ = false;
};

std::string_view compilerOf(std::string_view rule) {
  if (rule.starts_with("tensorflow")) return "tf.function";
  return rule.starts_with("torch") ? "torch.compile" : "jax.jit";
}

Finding withFewerShapes(Finding f, std::string_view compiler, const Prediction& gain) {
  return withAdvice(
      std::move(f),
      {adviceOf(kFewerShapes, {"code", std::string(compiler), "a shape a batch", "few shapes"},
                gain, "padding is computed, too; dynamic shapes may run slower")});
}

constexpr const char* kTitle = "Functions of the step are compiled repeatedly";

// By the hook: each to the nanosecond.
Maybe<Finding> byHook(const Evidence& e, const Compilations& all) {
  const Compilation* longest = all.longest();
  const double share = all.share();
  if (!longest || share <= kNotable) return {};
  Finding f = overheadFinding(e, share, kTitle);
  if (all.times() < kManyTimes) f.confidence = lowered(f.confidence);
  const PhaseSpan& span = longest->latest->data;
  const SpanName name(e.trace.text(span.name));
  f.where = lineAt(e.trace, span.file, span.line);
  addEvidence(f, "compilation takes {} of the time, without the first compilation of each function",
              {ratioWord(share)});
  addEvidence(f, "{} was recompiled {} times at its line, {} each",
              {textWord(std::string(name.function)), countWord(longest->times),
               timeWord(longest->seconds / longest->times)},
              countWord(longest->times));
  if (!name.why.empty()) addEvidence(f, "the latest: {}", {textWord(std::string(name.why))});
  // One compilation is left where all shapes become one; one in ten, where a few stay.
  const double one = 1.0 / (1 + all.times());
  Prediction gain = withoutOverhead(e, share, one, one + 0.1, 0);
  gain.high = withoutOverhead(e, std::min(kMaxShare, kMoreLeaves * share), 0, 0, 0).high;
  return withFewerShapes(std::move(f), compilerOf(name.act), gain);
}

// By samples of the compiler's frames: after warm-up, whatever is compiled.
Maybe<Finding> bySamples(const Evidence& e) {
  const double times = e.trainer.stacks.compilations;
  if (times < kMinTimes) return {};
  Maybe<Finding> f = sampledOverhead(e, OverheadKind::kCompilation, kNotable, kTitle,
                                     "the training thread traces and compiles {} of the time");
  if (!f) return {};
  f->confidence = std::min(f->confidence, Confidence::kMedium);
  if (times < kManyTimes) f->confidence = lowered(f->confidence);
  addEvidence(*f, "at least {} times, after warm-up", {numberWord(times)});
  const auto hot = hottest(e, {Side::kTrainer, {}, OverheadKind::kCompilation, {}});
  const Prediction gain = withoutOverhead(e, std::min(kMaxShare, f->shareRatio), 0.1, 0.5, 0.02);
  return withFewerShapes(std::move(*f), compilerOf(hot ? hot->rule : ""),
                         assuming("a tenth of the compilation remains, at best a fiftieth", gain));
}

Maybe<Finding> recompilation(const Evidence& e) {
  const Compilations all(e);
  return all.any() ? byHook(e, all) : bySamples(e);
}

}  // namespace

extern const FindingDefinition kRecompilation(
    "compute.recompilation", recompilation, offers(kFewerShapes),
    {.cause =
         R"(Functions of the step (jax.jit, torch.compile, tf.function) are compiled for the shapes and
  values of their arguments. New ones cause another compilation, and the step waits for it.)",
     .rule =
         R"(after warm-up, one function is compiled at least three times at one line, and this takes
  over 5 % of the window. Times are JAX's own if the hook reports them, without first compilations.
  Otherwise they are samples in the compiler (at the low end of a 90 % interval).)",
     .fixes = R"(- Few shapes: pad batches to a few sizes, drop the last, smaller batch.
- Declare the dimensions that change: dynamic=True (torch), input_signature (tf.function).
- Create the compiled function once, outside the loop.)",
     .wrong = R"(the run is so short that it consists mostly of first compilations of many
  functions.)",
     .note = R"(The gain excludes padding and side effects of compilation (garbage, a first run). If
  compilation is most of the time, it may be larger.)"});

}  // namespace stallprof
