// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/describe/describe.h"
#include "analysis/facts/native_samples.h"
#include "analysis/facts/source_lines.h"
#include "base/largest.h"
#include "classify/frames.h"
#include "classify/native_class.h"

namespace stallprof {
namespace {

constexpr std::size_t kMaxFunctions = 30;
constexpr double kMinShare = 0.005;  // below it a row is noise
// A share of fewer samples has an interval of 20 points and more to either side.
constexpr double kMinNativeSamples = 20;
// Of a Python function's samples: fewer may be of the function that ran just before or after it.
constexpr double kMinNativeShare = 0.25;

// A function of a library; without symbols all of the library is one.
using Leaf = std::pair<StringId, StringId>;  // file, function as spelled
struct LeafUse {
  double samples = 0;
  NativeClass is = NativeClass::kProgram;
  std::set<ProcessId> processes;
  std::map<std::pair<StringId, StringId>, std::pair<double, StackId>> below;  // Python functions
};
using Leaves = std::map<std::pair<Role, Leaf>, LeafUse>;

// As the report names a Python function, for the side that ran it.
using PythonName = std::tuple<Side, std::string, std::string>;
using Below = std::map<PythonName, std::map<Leaf, double>>;

class Places {
 public:
  Places(const Trace& trace, const Roles& roles, Nanos begin, Nanos end)
      : trace_(trace), roles_(roles), begin_(begin), end_(end) {
    for (const ThreadLife& thread : trace.threads) gather(thread);
    for (const auto& [of, leaves] : byStack_) {
      const SourceLine python = lineOf(trace, of.second);
      auto& sums = below_[{of.first, python.file.raw(), python.function.raw()}];
      for (const auto& [leaf, samples] : leaves) sums[leaf] += samples;
    }
  }

  [[nodiscard]] bool seen() const { return samples_ > 0; }

  [[nodiscard]] NativeInfo info() const {
    NativeInfo info;
    info.samples = std::llround(samples_);
    std::array<double, kNativeClasses> classes{};
    for (const auto& [key, use] : leaves_) classes[static_cast<std::size_t>(use.is)] += use.samples;
    for (std::size_t i = 0; i < kNativeClasses; ++i)
      if (classes[i] > 0)
        info.classes.push_back({std::string(nameOf(static_cast<NativeClass>(i))),
                                std::llround(classes[i]), classes[i] / samples_});
    std::stable_sort(info.classes.begin(), info.classes.end(),
                     [](const auto& a, const auto& b) { return a.ratio > b.ratio; });
    info.spinRatio = classes[static_cast<std::size_t>(NativeClass::kSpin)] / samples_;
    info.poolRatio = pools_ / samples_;
    if (kernelSeen()) info.kernelRatio = kernel_ / samples_;
    addFunctions(info);
    return info;
  }

  // Of the samples under that Python function the most that are of one function called by it.
  [[nodiscard]] NativeLeaf below(Side side, const SourceLine& python) const {
    const auto found = below_.find({side, python.file.raw(), python.function.raw()});
    if (found == below_.end()) return {};
    double all = 0, maximum = 0;
    Leaf best;
    for (const auto& [leaf, samples] : found->second) {
      all += samples;
      const bool own = classOf(leaf) == NativeClass::kInterpreter;
      if (!own && samples > maximum) {
        maximum = samples;
        best = leaf;
      }
    }
    if (all < kMinNativeSamples || maximum < kMinNativeShare * all) return {};
    return leafOf(best, maximum / all);
  }

  // The hottest function of one side, locks left out: whose they are no stack says. Of the
  // trainer's own process, where one steps.
  [[nodiscard]] NativeLeaf hottest(Side side) const {
    double all = 0;
    std::map<Leaf, double> sums;
    const bool trainer = side == Side::kTrainer && !roles_.trainers.empty();
    for (const auto& [key, use] : leaves_) {
      if (sideOf(key.first) != side || (trainer && key.first != Role::kTrainer)) continue;
      if (use.is == NativeClass::kLock || isFutex(use.is, trace_.text(key.second.second))) continue;
      all += use.samples;
      sums[key.second] += use.samples;
    }
    const auto best = largestIn(sums);
    if (all < kMinNativeSamples || best->second < kMinNativeShare * all) return {};
    return leafOf(best->first, best->second / all);
  }

 private:
  static Side sideOf(Role role) {
    const bool makes = role == Role::kWorker || role == Role::kFeeder || role == Role::kProducer;
    return makes ? Side::kProducer : Side::kTrainer;
  }

  [[nodiscard]] NativeClass classOf(const Leaf& leaf) const {
    return nativeClass(trace_.text(leaf.first), readableSymbol(trace_.text(leaf.second)));
  }

  [[nodiscard]] NativeLeaf leafOf(const Leaf& leaf, double ratio) const {
    return {Untrusted(std::string(baseName(trace_.text(leaf.first)))),
            Untrusted(readableSymbol(trace_.text(leaf.second))), ratio};
  }

  [[nodiscard]] bool kernelSeen() const {
    bool full = true;
    for (const auto& row : trace_.sources)
      if (trace_.text(row.data.source) == "native_samples")
        full = row.data.state == Coverage::kFull || kernel_ > 0;
    return full;
  }

  void gather(const ThreadLife& thread) {
    const Role own = roles_.of(thread.id);
    const Role role = own == Role::kHelper ? roles_.of(thread.process) : own;
    const bool hasStacks = !thread.stacks.empty();
    eachNative(thread, {begin_, end_}, [&](const NativeSlice& native) {
      const Leaf leaf{native.file, native.function};
      const double samples = native.samples;
      LeafUse& use = leaves_[{role, leaf}];
      if (use.samples == 0) use.is = classOf(leaf);
      use.samples += samples;
      samples_ += samples;
      if (use.is == NativeClass::kKernel) kernel_ += samples;
      use.processes.insert(thread.process);
      if (native.stack.none()) return;
      if (!hasStacks) {
        // A pool's thread, and the frame that submitted its work. It spins for nobody, and one that
        // makes batches does not work for the step that runs meanwhile.
        if (use.is == NativeClass::kSpin || role == Role::kProducer) return;
        pools_ += samples;
      }
      const StackSeen& frame = trace_.stack(native.stack);
      auto& [sum, any] = use.below[{frame.function, frame.file}];
      sum += samples;
      any = native.stack;
      byStack_[{sideOf(role), native.stack}][leaf] += samples;
    });
  }

  void addFunctions(NativeInfo& info) const {
    SampleSum all;
    all.samples = all.squares = samples_;
    for (const auto& [key, use] : leaves_) {
      if (use.samples < kMinShare * samples_) continue;
      NativeInfo::Function f;
      const Share share = shareOf(use.samples, all);
      f.leaf = leafOf(key.second, share.value);
      f.low = share.low;
      f.high = share.high;
      f.className = nameOf(use.is);
      f.role = nameOf(key.first);
      f.samples = std::llround(use.samples);
      f.processes = static_cast<std::int64_t>(use.processes.size());
      const auto maximum = std::max_element(
          use.below.begin(), use.below.end(),
          [](const auto& a, const auto& b) { return a.second.first < b.second.first; });
      // Samples of both kinds are not of one instant: a few are under what was called before.
      if (maximum != use.below.end() && maximum->second.first >= kMinNativeShare * use.samples)
        f.below = lineOf(trace_, maximum->second.second);
      info.functions.push_back(std::move(f));
    }
    std::stable_sort(
        info.functions.begin(), info.functions.end(), [](const auto& a, const auto& b) {
          return a.samples != b.samples ? a.samples > b.samples : a.leaf.file < b.leaf.file;
        });
    if (info.functions.size() > kMaxFunctions) info.functions.resize(kMaxFunctions);
  }

  const Trace& trace_;
  const Roles& roles_;
  const Nanos begin_, end_;
  Leaves leaves_;
  std::map<std::pair<Side, StackId>, std::map<Leaf, double>> byStack_;
  Below below_;
  double samples_ = 0, kernel_ = 0, pools_ = 0;
};

Side sideOf(const Finding& f) {
  const bool producer = f.phase == Phase::kTransform || f.phase == Phase::kExtract;
  return producer ? Side::kProducer : Side::kTrainer;
}

// "83 % of its CPU time in libjpeg.so.62:decode_mcu", from what is in the job's files: escaped.
std::string words(const NativeLeaf& leaf) {
  return std::to_string(std::lround(leaf.ratio * 100)) + " % of its CPU time in " + nameOf(leaf);
}

void addTo(Finding& f, const Places& table) {
  // What makes batches in the trainer itself is found there.
  f.native = table.below(sideOf(f), f.hot);
  if (!f.native.known() && sideOf(f) == Side::kProducer)
    f.native = table.below(Side::kTrainer, f.hot);
  if (f.native.known()) f.evidence.push_back({words(f.native), f.native.ratio, "ratio"});
  const bool aboutCode = f.phase == Phase::kTransform || f.phase == Phase::kCompute;
  if (f.hot.known() || !aboutCode) return;
  const NativeLeaf leaf = table.hottest(sideOf(f));
  if (leaf.known()) f.hot = {leaf.file, leaf.function, 0};
}

}  // namespace

std::string nameOf(const NativeLeaf& leaf) {
  const std::string library = escapeTerminal(leaf.file.raw(), 120);
  if (leaf.function.empty()) return library;
  return library + ":" + escapeTerminal(leaf.function.raw(), 120);
}

void addNative(const Trace& trace, const Roles& roles, const TrainerFacts& facts,
               Analysis& analysis) {
  const Places table(trace, roles, facts.windowBegin, facts.windowEnd);
  if (!table.seen()) return;
  analysis.native = table.info();
  for (FunctionInfo& f : analysis.functions)
    f.native = table.below(f.role == "producer" ? Side::kProducer : Side::kTrainer, f.hot);
  for (Finding& f : analysis.findings) addTo(f, table);
}

}  // namespace stallprof
