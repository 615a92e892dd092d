// SPDX-License-Identifier: MIT
#include "analysis/steps/loops/recurrence.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace stallprof {
namespace {

// Training loops lie near the outermost frame; what is deeper is the operators'.
constexpr std::size_t kDeepest = 64;
// Without a sample for so long, the function may have been left and entered again.
constexpr Nanos kBreak = std::chrono::seconds(1);
constexpr double kMinWork = 20, kWorkBeside = 0.02;  // samples; part of them at either end

// A frame of the tree of stacks, of Python functions alone.
struct Frame {
  StackId outer;  // the nearest Python frame further out
  std::size_t depth = 0;
  std::size_t function = 0;  // index in Watcher::watched_ + 1; 0: too deep, or no Python frame
  bool whole = true;         // all frames down from the outermost one are known
  bool met = false;          // by a sample, here or further in
};

struct Watched {
  Recurrence is;
  std::size_t lines = 0;
  bool kept = false;
  std::uint64_t last = 0;  // sample that found it last
};

class Watcher {
 public:
  Watcher(const Trace& trace, const ThreadLife& thread, const StackLabels& labels)
      : trace_(trace), thread_(thread), labels_(labels), frames_(trace.stacks.size()) {
    for (std::size_t i = 0; i < frames_.size(); ++i) placeFrame(i);
  }

  Recurrences watch() {
    answer_.work = timeAtWork();
    eachSlice([&](const Timed<StackSlice>& row, Nanos begin, bool) {
      if (row.at >= answer_.work.begin && row.at <= answer_.work.end) weigh(row, begin);
    });
    for (Watched& w : watched_)
      w.kept = w.lines > 1 && w.is.seconds > 0 && w.is.seconds >= kMinTime * answer_.seconds;
    eachSlice(
        [&](const Timed<StackSlice>& row, Nanos begin, bool broken) { visit(row, begin, broken); });
    for (Watched& w : watched_)
      if (w.kept) answer_.functions.push_back(finished(std::move(w.is)));
    std::stable_sort(answer_.functions.begin(), answer_.functions.end(),
                     [](const auto& a, const auto& b) { return a.depth < b.depth; });
    return std::move(answer_);
  }

 private:
  using Name = std::tuple<StackId, StringId, StringId, std::uint32_t>;

  // A caller's id is smaller than its callee's, so its frame is there already.
  void placeFrame(std::size_t i) {
    const StackSeen& seen = trace_.stacks[i].data;
    Frame& frame = frames_[i];
    frame.whole = !seen.stack.none() && seen.kind != FrameKind::kOther;
    if (!seen.caller.none() && seen.caller.value <= i) {
      const Frame& caller = frames_[seen.caller.value - 1];
      frame.whole = frame.whole && caller.whole;
      const bool python = trace_.stack(seen.caller).kind == FrameKind::kPython;
      frame.outer = python ? seen.caller : caller.outer;
      frame.depth = caller.depth + 1;
    }
    if (seen.kind != FrameKind::kPython || frame.depth >= kDeepest) return;
    if (labels_.of(seen.stack, Side::kTrainer).fetches) return;  // a loader's own loops
    const Name name{frame.outer, seen.function, seen.file, seen.firstLine};
    const auto [at, isNew] = known_.try_emplace(name, watched_.size());
    if (isNew) {
      Recurrence& is = watched_.emplace_back().is;
      is.place = seen.stack;
      is.depth = frame.depth;
    }
    frame.function = at->second + 1;
  }

  // Slices with a whole stack, or with none; those cut short by the depth of the stack say nothing.
  template <class Take>
  void eachSlice(Take&& take) {
    Nanos before = trace_.begin;
    for (const Timed<StackSlice>& row : thread_.stacks) {
      const StackId stack = row.data.stack;
      if (!stack.none() && (stack.value > frames_.size() || !frames_[stack.value - 1].whole))
        continue;
      const Nanos gap = std::max(Nanos{}, row.at - before);
      take(row, row.at - std::min(gap, kBreak) / 2, gap > kBreak);
      before = std::max(before, row.end());
    }
  }

  // Without compiling: a compiled model may have no frame afterwards that shows its work.
  [[nodiscard]] bool atWork(const StackSlice& slice) const {
    const PhaseRule* rule = labels_.of(slice.stack, Side::kTrainer).rule;
    return rule && namesWork(*rule) && rule->overhead != OverheadKind::kCompilation;
  }
  [[nodiscard]] Interval timeAtWork() {
    double all = 0, before = 0;
    eachSlice([&](const Timed<StackSlice>& row, Nanos, bool) {
      if (atWork(row.data)) all += std::max(1u, row.data.samples);
    });
    if (all < kMinWork) return {Nanos::min(), Nanos::max()};
    Interval work{Nanos::max(), Nanos::min()};
    eachSlice([&](const Timed<StackSlice>& row, Nanos, bool) {
      if (!atWork(row.data)) return;
      if (before <= (1 - kWorkBeside) * all) work.end = row.end();
      before += std::max(1u, row.data.samples);
      if (before >= kWorkBeside * all) work.begin = std::min(work.begin, row.at);
    });
    return work;
  }

  template <class Take>
  void eachFrame(StackId stack, Take&& take) {
    for (StackId at = stack; !at.none(); at = frames_[at.value - 1].outer)
      if (Frame& frame = frames_[at.value - 1]; frame.function != 0)
        take(at, frame, watched_[frame.function - 1]);
  }

  void weigh(const Timed<StackSlice>& row, Nanos begin) {
    const double time = seconds(row.end() - begin) + seconds(row.at - begin);
    answer_.seconds += time;
    eachFrame(row.data.stack, [&](StackId, Frame& frame, Watched& w) {
      w.is.seconds += time;
      w.lines += !frame.met;
      frame.met = true;
    });
  }

  void visit(const Timed<StackSlice>& row, Nanos begin, bool broken) {
    ++sample_;
    const StackId update = labels_.of(row.data.stack, Side::kTrainer).update;
    if (!update.none() && (!updating_ || broken)) answer_.updates.push_back(begin);
    updating_ = !update.none();
    eachFrame(row.data.stack, [&](StackId at, Frame&, Watched& w) {
      if (!w.kept) return;
      std::vector<Visit>& visits = w.is.visits;
      const bool entered = broken || w.last + 1 != sample_;
      w.last = sample_;
      if (entered || visits.back().place != at)
        visits.push_back({{begin, row.end()}, at, trace_.stack(at).line, 0, entered});
      visits.back().end = row.end();
      visits.back().samples += std::max(1u, row.data.samples);
      w.is.updates = w.is.updates || (!update.none() && at < update);
    });
  }

  static Recurrence finished(Recurrence is) {
    is.returns = countReturns(is.visits);
    is.loops = findLoops(is.visits);
    return is;
  }

  const Trace& trace_;
  const ThreadLife& thread_;
  const StackLabels& labels_;
  std::vector<Frame> frames_;
  std::vector<Watched> watched_;
  std::map<Name, std::size_t> known_;
  Recurrences answer_;
  std::uint64_t sample_ = 1;
  bool updating_ = false;
};

}  // namespace

Recurrences findRecurrences(const Trace& trace, const ThreadLife& thread,
                            const StackLabels& labels) {
  return Watcher(trace, thread, labels).watch();
}

}  // namespace stallprof
