// SPDX-License-Identifier: MIT
#include "present/timeline/stack_export.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "analysis/facts/source_lines.h"
#include "analysis/facts/stack_samples.h"
#include "analysis/steps/loops/inferred_steps.h"
#include "analysis/steps/loops/thread_phases.h"
#include "analysis/steps/training_thread.h"
#include "base/text.h"
#include "classify/frames.h"
#include "classify/native_class.h"
#include "event/native_events.h"

namespace stallprof {
namespace {

using Json = nlohmann::ordered_json;

// Native functions as the last frames of stacks: "libjpeg.so.62:decode_mcu".
class NativeFrames {
 public:
  explicit NativeFrames(const Trace& trace);

  // Time of a stack, split by the native samples under it; a share with an empty name is Python's
  // own. One share of all where there is no native sample.
  [[nodiscard]] std::vector<std::pair<std::string, Nanos>> split(StackId stack, Nanos total) const;
  // What a thread ran without a Python frame of its own, `total` in all, by the stack that
  // submitted its work (none: not known) and function.
  using Alone = std::map<std::pair<StackId, std::string>, Nanos>;
  [[nodiscard]] Alone alone(const ThreadLife& thread, Nanos total) const;

 private:
  using Place = std::pair<StringId, StringId>;  // file, function
  [[nodiscard]] std::string nameOf(const Place& place) const;
  [[nodiscard]] bool spins(const Place& place) const;  // for nobody's sake

  const Trace& trace_;
  std::unordered_map<StackId, std::map<Place, std::uint64_t>> under_;
};

NativeFrames::NativeFrames(const Trace& trace) : trace_(trace) {
  for (const ThreadLife& thread : trace.threads)
    for (const auto& row : thread.natives)
      if (!thread.stacks.empty() && !row.data.stack.none())
        under_[row.data.stack][{row.data.file, row.data.function}] += row.data.samples;
}

// Bytecode has no native frame of its own: the Python function is what runs.
std::string NativeFrames::nameOf(const Place& place) const {
  const std::string_view file = trace_.text(place.first);
  const std::string symbol = readableSymbol(trace_.text(place.second));
  if (nativeClass(file, symbol) == NativeClass::kInterpreter) return {};
  const NativeLeaf leaf{Untrusted(std::string(baseName(file))), Untrusted(symbol), 0};
  return leaf.known() ? stallprof::nameOf(leaf) : "(unknown code)";
}

// `total` in the proportions of `samples`, rounded at each end, so that the parts sum.
template <class Key, class Visit>
void divide(Nanos total, const std::map<Key, std::uint64_t>& samples, Visit&& visit) {
  std::uint64_t all = 0, passed = 0;
  for (const auto& [key, count] : samples) all += count;
  if (all == 0) return;
  Nanos given{};
  for (const auto& [key, count] : samples) {
    passed += count;
    const Nanos upTo(std::llround(static_cast<double>(total.count()) * static_cast<double>(passed) /
                                  static_cast<double>(all)));
    if (upTo > given) visit(key, upTo - given);
    given = upTo;
  }
}

std::vector<std::pair<std::string, Nanos>> NativeFrames::split(StackId stack, Nanos total) const {
  const auto found = under_.find(stack);
  if (found == under_.end()) return {{std::string(), total}};
  std::map<std::string, std::uint64_t> samples;
  for (const auto& [place, count] : found->second) samples[nameOf(place)] += count;
  std::vector<std::pair<std::string, Nanos>> parts;
  divide(total, samples, [&](const auto& name, Nanos part) { parts.emplace_back(name, part); });
  return parts;
}

NativeFrames::Alone NativeFrames::alone(const ThreadLife& thread, Nanos total) const {
  std::map<std::pair<StackId, Place>, std::uint64_t> samples;
  for (const auto& row : thread.natives)
    if (thread.stacks.empty() || row.data.stack.none())
      samples[{row.data.stack, {row.data.file, row.data.function}}] += row.data.samples;
  Alone named;
  divide(total, samples, [&](const auto& key, Nanos part) {
    const auto& [stack, place] = key;
    std::string name = nameOf(place);
    if (name.empty()) name = "(interpreter)";
    named[{spins(place) ? StackId{} : stack, std::move(name)}] += part;
  });
  return named;
}

bool NativeFrames::spins(const Place& place) const {
  return nativeClass(trace_.text(place.first), readableSymbol(trace_.text(place.second))) ==
         NativeClass::kSpin;
}

std::string frameName(const Trace& trace, StackId frame) {
  const StackSeen& seen = trace.stack(frame);
  if (seen.kind == FrameKind::kOther) return escapeTerminal(trace.text(seen.function), 120);
  SourceLine line = lineOf(trace, frame);
  line.line = 0;  // one box a function, not one a line
  return nameOf(line);
}

std::vector<std::string> frameNames(const Trace& trace, StackId stack) {
  std::vector<std::string> names;
  for (StackId at = stack; !at.none(); at = trace.stack(at).caller)
    names.push_back(frameName(trace, at));
  std::reverse(names.begin(), names.end());
  return names;
}

Nanos endOf(const Trace& trace) { return trace.end + Nanos(1); }

Side sideOf(Role role) { return role == Role::kWorker ? Side::kProducer : Side::kTrainer; }

std::string processName(const Trace& trace, ProcessId id) {
  const ProcessLife& process = trace.process(id);
  return std::to_string(process.pid) + " " + escapeTerminal(trace.text(process.comm), 64);
}

// A name in speedscope's JSON.
std::string nameText(const std::string& name) { return escapeTerminal(name, 400); }

struct Profile {
  Json samples = Json::array(), weights = Json::array();
  std::int64_t end = 0;
};

// Microseconds, as both formats have it.
std::int64_t weightOf(Nanos time) { return (time.count() + 500) / 1000; }

// One that lived too shortly for other samples: what its native ones stand for.
Nanos timeOnCpu(const ThreadLife& thread) {
  Nanos run{};
  for (const auto& slice : thread.slices) run += slice.data.run;
  if (thread.slices.empty())
    for (const auto& row : thread.natives) run += kNativePeriod * row.data.samples;
  return run;
}

// The group of what has no phase of its own: "" where phases or nothing are the groups.
std::string groupOf(const Trace& trace, const Roles& roles, const ThreadLife& thread,
                    StackGroup by) {
  if (by == StackGroup::kRole) return std::string(nameOf(roles.of(thread.process)));
  return by == StackGroup::kProcess ? processName(trace, thread.process) : std::string();
}

struct SampledTime {
  std::map<std::pair<std::string, StackId>, Nanos> stacks;  // by group
  std::vector<Nanos> frameless;  // of each thread: what it ran without a Python frame
};

SampledTime sampledTime(const Trace& trace, const Roles& roles, const StackLabels& labels,
                        StackGroup by, bool blocked) {
  SampledTime time;
  const bool stepless =
      roles.trainers.empty() && inferSteps(trace, labels, roles).iterations.empty();
  const ThreadId alone = roles.trainers.empty() ? trainingThread(trace, labels) : ThreadId();
  for (std::size_t i = 0; i < trace.threads.size(); ++i) {
    const ThreadLife& thread = trace.threads[i];
    const Side side = sideOf(roles.of(thread.process));
    // Of the thread that steps, or where none does the one that the report is about, it is known
    // what the user's own functions are for.
    const ThreadId id{static_cast<std::uint32_t>(i + 1)};
    const bool trains = id == alone || roles.of(id) == Role::kTrainer;
    const ThreadPhases phases =
        by == StackGroup::kPhase && trains
            ? ThreadPhases(trace, labels, thread, {trace.begin, endOf(trace)}, stepless)
            : ThreadPhases(labels, side);
    const std::string group = groupOf(trace, roles, thread, by);
    const auto groupHere = [&](const Sample& sample) -> std::string {
      if (by != StackGroup::kPhase) return group;
      return std::string(nameOf(phases.of(*sample.stack, sample.wait)));
    };
    time.frameless.push_back(thread.stacks.empty() ? timeOnCpu(thread) : Nanos{});
    eachSample(trace, thread, trace.begin, endOf(trace), [&](const Sample& sample) {
      const bool running = sample.wait == Wait::kRunning;
      if (sample.stack->stack.none())
        time.frameless.back() += running ? sample.weight : Nanos{};
      else if (blocked || running)
        time.stacks[{groupHere(sample), sample.stack->stack}] += sample.weight;
    });
  }
  return time;
}

}  // namespace

std::vector<WeighedStack> weighStacks(const Trace& trace, const Roles& roles,
                                      const StackLabels& labels, StackGroup by, bool blocked) {
  const SampledTime sampled = sampledTime(trace, roles, labels, by, blocked);
  // Stacks that differ in lines alone are one.
  std::map<std::pair<std::string, std::vector<std::string>>, Nanos> merged;
  const NativeFrames natives(trace);
  for (const auto& [key, time] : sampled.stacks)
    for (const auto& [leaf, part] : natives.split(blocked ? StackId{} : key.second, time)) {
      std::vector<std::string> frames = frameNames(trace, key.second);
      if (!leaf.empty()) frames.push_back(leaf);
      merged[{key.first, std::move(frames)}] += part;
    }
  for (std::size_t i = 0; i < trace.threads.size(); ++i) {
    const ThreadLife& thread = trace.threads[i];
    for (const auto& [place, time] : natives.alone(thread, sampled.frameless[i])) {
      const auto& [stack, leaf] = place;
      const SampleLabel label = StackLabels::sample(
          labels.of(stack, sideOf(roles.of(thread.process))), Wait::kRunning, false);
      // Of a program without an interpreter the report judges loops, not samples.
      const bool phased = by == StackGroup::kPhase && !trace.stacks.empty();
      const std::string group =
          phased ? std::string(nameOf(label.phase)) : groupOf(trace, roles, thread, by);
      std::vector<std::string> frames = frameNames(trace, stack);
      if (!frames.empty()) frames.emplace_back("(native threads)");
      frames.push_back(leaf);
      merged[{group, std::move(frames)}] += time;
    }
  }
  std::vector<WeighedStack> stacks;
  for (const auto& [key, time] : merged) stacks.push_back({key.first, key.second, time});
  return stacks;
}

std::string foldedStacks(const std::vector<WeighedStack>& stacks) {
  std::string out;
  for (const WeighedStack& stack : stacks) {
    std::string line;
    const auto add = [&](std::string frame) {
      std::replace(frame.begin(), frame.end(), ';', ',');  // the format's own separator
      line += (line.empty() ? "" : ";") + frame;
    };
    if (!stack.group.empty()) add(stack.group);
    std::for_each(stack.frames.begin(), stack.frames.end(), add);
    if (const std::int64_t time = weightOf(stack.time); time > 0)
      out += line + " " + std::to_string(time) + "\n";
  }
  return out;
}

std::string speedscopeJson(const std::vector<WeighedStack>& stacks, const std::string& name) {
  std::map<std::string, std::size_t> index;
  Json frames = Json::array();
  std::map<std::string, Profile> profiles;
  for (const WeighedStack& stack : stacks) {
    Json sample = Json::array();
    for (const std::string& frame : stack.frames) {
      const auto [at, isNew] = index.try_emplace(frame, frames.size());
      if (isNew) frames.push_back(Json{{"name", nameText(frame)}});
      sample.push_back(at->second);
    }
    Profile& profile = profiles[stack.group];
    profile.samples.push_back(std::move(sample));
    profile.weights.push_back(weightOf(stack.time));
    profile.end += weightOf(stack.time);
  }
  Json all = Json::array();
  for (auto& [group, profile] : profiles)
    all.push_back(Json{{"type", "sampled"},
                       {"name", nameText(group.empty() ? name : group)},
                       {"unit", "microseconds"},
                       {"startValue", 0},
                       {"endValue", profile.end},
                       {"samples", std::move(profile.samples)},
                       {"weights", std::move(profile.weights)}});
  const Json document = {{"$schema", "https://www.speedscope.app/file-format-schema.json"},
                         {"name", nameText(name)},
                         {"exporter", "stallprof"},
                         {"shared", {{"frames", std::move(frames)}}},
                         {"profiles", std::move(all)}};
  return document.dump() + "\n";
}

}  // namespace stallprof
