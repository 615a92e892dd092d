// SPDX-License-Identifier: MIT
#include "analysis/steps/loops/loop_lines.h"

#include <algorithm>
#include <map>

#include "analysis/facts/native_samples.h"
#include "analysis/facts/stack_samples.h"
#include "analysis/steps/loops/recurrence.h"

namespace stallprof {
namespace {

constexpr std::size_t kMinReturns = 5;  // to an earlier line: fewer may be a statement's own lines
constexpr int kMinSpanning = 2;         // returns over two lines that follow each other
constexpr double kLongEnough = 0.80;    // of the longest loop's: as good as it, and further out
constexpr double kMinModel = 3;         // samples: fewer may be one odd call
constexpr double kMuchOfLine = 0.05;    // of a line's samples are a model's: it computes
constexpr double kSomeOfLine = 0.20;    // of those on a CPU a framework's: it computes, too
constexpr double kMuchOfModel = 0.05;   // of all such samples: less is zeroing a gradient
constexpr double kHalfProducts = 0.50;  // of the kernel's samples of a line: matrix products
constexpr double kWaits = 0.80;         // of a line's samples are blocked: a wait is what it is for
constexpr double kLittleOfLine = 0.10;  // of a line's samples: a type check, a constant of a module

struct Body {
  std::uint32_t first = 0, last = 0;
  std::size_t returns = 0;
};

// Ranges of lines that the function went back over, and did so again: lines that follow each other
// belong together where two returns or more span both. A loop's visits lie in its range, and loops
// that follow each other in a function lie apart. One return alone is no loop: a `with` statement
// is visited once more where its block ends.
std::vector<Body> bodiesOf(const std::vector<Visit>& visits, const Interval& work) {
  std::vector<Body> back;
  std::map<std::uint32_t, int> spanning;  // from this line to the next: so many more than before
  for (std::size_t i = 1; i < visits.size(); ++i)
    if (const std::uint32_t first = visits[i].line, last = visits[i - 1].line;
        !visits[i].entered && first < last && visits[i].overlaps(work)) {
      back.push_back({first, last, 1});
      ++spanning[first];
      --spanning[last];
    }
  std::vector<Body> bodies;
  int now = 0;
  for (const auto& [line, more] : spanning) {
    const bool was = now >= kMinSpanning;
    now += more;
    if (!was && now >= kMinSpanning) bodies.push_back({line, line, 0});
    if (was && now < kMinSpanning) bodies.back().last = line;
  }
  for (Body& body : bodies)
    body.returns = static_cast<std::size_t>(std::count_if(back.begin(), back.end(), [&](auto& b) {
      return b.first < body.last && body.first < b.last;
    }));
  return bodies;
}

MainLoop loopOf(const std::vector<Visit>& visits, const Body& body, const Interval& work) {
  MainLoop loop;
  loop.first = body.first;
  loop.last = body.last;
  std::uint32_t top = 0;  // of those visited
  for (const Visit& visit : visits) {
    if (visit.line < body.first || visit.line > body.last) continue;
    if (loop.place.none()) loop.window.begin = visit.begin;
    if (loop.place.none() || visit.line < top) {
      loop.place = visit.place;
      top = visit.line;
    }
    loop.window.end = visit.end;
    loop.seconds += seconds(overlap(visit, work));
  }
  return loop;
}

struct LineSamples {
  double all = 0, running = 0, model = 0, framework = 0;
  double compiles = 0;   // of the model's: a step that is compiled has no frames of Python's later
  double gradients = 0;  // of those: one shows that it is a step, not data that is compiled
  double natives = 0, products = 0;  // the kernel's samples; of these in BLAS and the like
  // A model's rules name backward and the like; its forward pass is a framework's operators.
  [[nodiscard]] double work() const { return model + framework; }
  // A forward pass may be written in tensors, with no frame below the line.
  [[nodiscard]] bool multiplies() const {
    return natives >= kMinModel && products >= kHalfProducts * natives;
  }
  [[nodiscard]] bool computes(double allWork) const {
    return gradients > 0 || (work() >= kMinModel && work() >= kMuchOfModel * allWork &&
                             (model >= kMuchOfLine * all || framework >= kSomeOfLine * running));
  }
};

using Lines = std::map<std::uint32_t, LineSamples>;

// Of lines that compile the last before one that does not computes what that one waits for: after
// thousands of steps its compilation is too little of its time to show it.
Lines::const_iterator firstThatComputes(const Lines& lines, double work) {
  const auto first = std::find_if(lines.begin(), lines.end(),
                                  [&](const auto& line) { return line.second.computes(work); });
  const auto compiled = [](const LineSamples& line) { return line.compiles >= kMinModel; };
  if (first == lines.end() || first->second.gradients > 0 || compiled(first->second)) return first;
  for (auto line = first; line != lines.begin();)
    if (compiled((--line)->second)) return line;
  return first;
}

}  // namespace

Maybe<MainLoop> findMainLoop(const Trace& trace, const ThreadLife& thread,
                             const StackLabels& labels) {
  const Recurrences all = findRecurrences(trace, thread, labels);
  std::vector<MainLoop> loops;  // outermost first
  for (const Recurrence& f : all.functions)
    for (const Body& body : bodiesOf(f.visits, all.work))
      if (body.returns >= kMinReturns) loops.push_back(loopOf(f.visits, body, all.work));
  const auto longest =
      std::max_element(loops.begin(), loops.end(),
                       [](const MainLoop& a, const MainLoop& b) { return a.seconds < b.seconds; });
  if (longest == loops.end() || longest->seconds < kMinTime * all.seconds) return {};
  const double maxSeconds = longest->seconds;
  return *std::find_if(loops.begin(), loops.end(), [&](const MainLoop& loop) {
    return loop.seconds >= kLongEnough * maxSeconds;
  });
}

LoopLines::LoopLines(const Trace& trace, const StackLabels& labels, const ThreadLife& thread,
                     Nanos begin, Nanos end) {
  const Maybe<MainLoop> loop = findMainLoop(trace, thread, labels);
  if (!loop) return;
  const StackSeen& at = trace.stack(loop->place);
  lines_.resize(trace.stacks.size());
  // A caller's id is smaller than its callee's, so its line is there already.
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    const StackSeen& seen = trace.stacks[i].data;
    if (!seen.caller.none() && seen.caller.value <= i) lines_[i] = lines_[seen.caller.value - 1];
    if (seen.caller == at.caller && seen.function == at.function && seen.file == at.file &&
        seen.line >= loop->first && seen.line <= loop->last) {
      lines_[i].number = seen.line;
      lines_[i].frame = seen.stack;
    }
  }
  Lines lines;
  double work = 0;
  eachSample(trace, thread, begin, end, [&](const Sample& sample) {
    const StackId stack = sample.stack->stack;
    if (stack.none() || stack.value > lines_.size()) return;
    const std::uint32_t number = lines_[stack.value - 1].number;
    if (number == 0) return;
    LineSamples& line = lines[number];
    ++line.all;
    line.running += sample.wait == Wait::kRunning;
    const StackLabel& label = labels.of(stack, Side::kTrainer);
    const PhaseRule* rule = label.rule;
    if (!rule) return;
    const bool compiles = namesModel(*rule) && rule->overhead == OverheadKind::kCompilation;
    line.model += namesModel(*rule);
    line.compiles += compiles;
    line.gradients += compiles && label.gradient;
    line.framework += namesFramework(*rule);
    work += namesWork(*rule);
  });
  NativeClasses classes(trace);
  eachNative(thread, {begin, end}, [&](const NativeSlice& native) {
    if (native.stack.none() || native.stack.value > lines_.size()) return;
    const std::uint32_t number = lines_[native.stack.value - 1].number;
    if (number == 0) return;
    LineSamples& line = lines[number];
    line.natives += native.samples;
    if (classes.of(native) == NativeClass::kMath) line.products += native.samples;
  });
  const auto computing = firstThatComputes(lines, work);
  if (computing == lines.end()) return;
  const std::uint32_t first = computing->first;
  known_ = true;
  for (Line& line : lines_) {
    if (line.number == 0) continue;
    const LineSamples& samples = lines[line.number];
    line.behind = line.number >= first;
    line.waits = samples.running <= (1 - kWaits) * samples.all;
    if (samples.computes(work) || (!line.behind && samples.multiplies()))
      line.is = Is::kCompute;
    else if (!line.behind && samples.work() <= kLittleOfLine * samples.all)
      line.is = Is::kData;
    else if (samples.compiles >= kMinModel)
      line.is = Is::kCompute;
  }
}

bool LoopLines::makesData(StackId stack, const StackLabel& label, const SampleLabel& what) const {
  const bool vague = what.overhead == OverheadKind::kNone && (!label.rule || label.rule->work);
  return of(stack) == Is::kData && vague &&
         (what.phase == Phase::kCompute || what.phase == Phase::kUnknown);
}

bool LoopLines::isUnknown(StackId stack, bool blocked, const StackLabel& label,
                          const SampleLabel& what, bool nowhere) const {
  const bool unnamed = !label.rule || (nowhere && label.rule->arrays);
  return (known_ || nowhere) && unnamed && what.phase == Phase::kCompute &&
         of(stack) != Is::kCompute && !awaitsModel(stack, blocked);
}

}  // namespace stallprof
