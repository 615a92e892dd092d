// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <map>

#include "analysis/steps/loops/thread_phases.h"
#include "classify/frames.h"
#include "classify/stack_labels.h"
#include "present/html/picture/picture.h"

namespace stallprof {
namespace {

constexpr double kNarrowest = 0.002;  // of a flame: below a pixel of 500
constexpr std::size_t kMaxFrames = 500;
constexpr int kDeepest = 60;

// One function as called from another: what its lines have in common.
struct Node {
  StringId function, file;
  std::uint64_t samples = 0;
  std::array<std::uint64_t, kPhaseNames.size()> byPhase{};
  std::map<std::pair<StringId, StringId>, std::size_t> callees;  // index in the tree
};

class Tree {
 public:
  explicit Tree(const Trace& trace) : trace_(trace), nodes_(1) {}

  void count(StackId innermost, std::uint64_t samples, Phase phase) {
    std::vector<const StackSeen*> frames;  // innermost first
    for (StackId id = innermost; !id.none() && id.value <= trace_.stacks.size();) {
      const StackSeen& frame = trace_.stacks[id.value - 1].data;
      frames.push_back(&frame);
      if (!frame.caller.none() && frame.caller.value >= id.value) break;  // would go on for ever
      id = frame.caller;
    }
    if (frames.empty()) return;
    std::size_t at = 0;
    nodes_[0].samples += samples;
    const std::size_t deep = std::min<std::size_t>(frames.size(), kDeepest);
    for (std::size_t i = 0; i < deep; ++i) {
      const StackSeen& frame = *frames[frames.size() - 1 - i];
      const auto key = std::pair(frame.function, frame.file);
      std::size_t next = nodes_.size();
      if (const auto known = nodes_[at].callees.find(key); known != nodes_[at].callees.end()) {
        next = known->second;
      } else {
        nodes_[at].callees.emplace(key, next);
        nodes_.push_back({frame.function, frame.file, 0, {}, {}});
      }
      nodes_[next].samples += samples;
      nodes_[next].byPhase[static_cast<std::size_t>(phase)] += samples;
      at = next;
    }
  }

  void draw(Flame& flame) const {
    flame.samples = nodes_[0].samples;
    if (flame.samples > 0) draw(flame, 0, 0, 0);
  }

 private:
  static Phase maxOf(const Node& node) {
    const auto maximum = std::max_element(node.byPhase.begin(), node.byPhase.end());
    return static_cast<Phase>(maximum - node.byPhase.begin());
  }

  // The callees of `node`, widest first, from `begin` on.
  void draw(Flame& flame, std::size_t node, int depth, double begin) const {
    std::vector<std::size_t> callees;
    for (const auto& [key, index] : nodes_[node].callees) callees.push_back(index);
    std::sort(callees.begin(), callees.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(nodes_[b].samples, a) < std::pair(nodes_[a].samples, b);
    });
    for (const std::size_t index : callees) {
      const Node& callee = nodes_[index];
      const double width = static_cast<double>(callee.samples) / static_cast<double>(flame.samples);
      if (width < kNarrowest || flame.frames.size() >= kMaxFrames) break;
      flame.depth = std::max(flame.depth, depth + 1);
      const ModulePath module = modulePathOf(trace_.text(callee.file));
      flame.frames.push_back({std::string(trace_.text(callee.function)), module.path,
                              hueOf(maxOf(callee)), module.users, depth, begin, width});
      draw(flame, index, depth + 1, begin);
      begin += width;
    }
  }

  const Trace& trace_;
  std::vector<Node> nodes_;  // 0 is what all stacks have in common: nothing
};

// The thread neither ran nor wanted to for most of the time that was sampled.
bool asleep(const ThreadLife& thread, const Timed<StackSlice>& stack) {
  constexpr int kAwake = 10;  // one part in so many
  Nanos busy{}, all{};
  auto slice = std::upper_bound(thread.slices.begin(), thread.slices.end(), stack.at,
                                [](Nanos t, const Timed<ThreadSlice>& s) { return t < s.end(); });
  for (; slice != thread.slices.end() && slice->at < stack.end(); ++slice) {
    busy += slice->data.run + slice->data.queued;
    all += slice->data.duration;
  }
  return all > Nanos(0) && busy < all / kAwake;
}

}  // namespace

std::vector<Flame> drawFlames(const Trace& trace, const Analyzed& analyzed,
                              const RuleTable& rules) {
  if (trace.stacks.empty()) return {};
  const StackLabels labels(trace, rules);
  const bool stepless = analyzed.analysis.steps.count == 0;
  std::array<Tree, 2> trees{Tree(trace), Tree(trace)};
  for (const ThreadLife& thread : trace.threads) {
    const bool trainer = thread.id == analyzed.trainer.thread;
    const bool worker = analyzed.roles.of(thread.process) == Role::kWorker;
    if (!trainer && !worker) continue;
    const ThreadPhases phases =
        trainer ? ThreadPhases(trace, labels, thread, analyzed.trainer.windowInterval(), stepless)
                : ThreadPhases(labels, Side::kProducer);
    // A worker's own thread is drawn whatever it does; its others (queue feeder, resource
    // sharer, idle pools) sleep most of the time and would hide it.
    const bool own = trainer || thread.tid == trace.process(thread.process).pid;
    for (const auto& slice : thread.stacks) {
      if (!own && asleep(thread, slice)) continue;
      if (slice.at >= analyzed.trainer.windowEnd || slice.end() <= analyzed.trainer.windowBegin)
        continue;
      trees[trainer ? 0 : 1].count(slice.data.stack, slice.data.samples,
                                   phases.of(slice.data, Wait::kRunning));
    }
  }
  std::vector<Flame> flames;
  for (std::size_t i = 0; i < trees.size(); ++i) {
    Flame flame;
    flame.title = i == 0 ? "The trainer's thread" : "The workers";
    trees[i].draw(flame);
    if (!flame.frames.empty()) flames.push_back(std::move(flame));
  }
  return flames;
}

}  // namespace stallprof
