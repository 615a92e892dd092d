// SPDX-License-Identifier: MIT
#include "analysis/steps/own_samples.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/add_members.h"
#include "classify/native_work.h"
#include "classify/own_rules.h"

namespace stallprof {
namespace {

// Whether code of a Python program is a framework's, or BLAS, which frameworks and arrays share:
// what calls it may be the model. nullopt: libc, the kernel: whoever called them.
std::optional<bool> operatorsCode(NativeClass is, std::string_view file) {
  switch (is) {
    case NativeClass::kRuntime:
    case NativeClass::kLock:
    case NativeClass::kKernel:
      return std::nullopt;
    case NativeClass::kTensor:
    case NativeClass::kParallel:
    case NativeClass::kSpin:
    case NativeClass::kDevice:
    case NativeClass::kJit:
      return true;
    case NativeClass::kMath:
      return file.find("-packages/") == std::string_view::npos ||
             file.find(".libs/") != std::string_view::npos;
    default:
      return false;
  }
}

// Code of libraries that store, decode, decompress or fetch data, and the kernel's that reads
// files; and what of the kernel's writes them.
void countSources(NativeClass is, std::string_view function, double samples, OwnSamples& to) {
  const NativeWork work = is == NativeClass::kKernel ? kernelWork(function) : NativeWork{};
  const bool source = work.phase == Phase::kExtract || is == NativeClass::kDecode ||
                      is == NativeClass::kCompression || is == NativeClass::kNetwork ||
                      is == NativeClass::kStorage;
  if (source) to.sources += samples;
  if (work.phase == Phase::kOther) to.stores += samples;
}

// Asleep, or for another process. A lock, a device or a poll may be a wait for the model, a socket
// one for data.
bool isForOthers(Wait wait) {
  return wait == Wait::kSleep || wait == Wait::kChild || wait == Wait::kPipe;
}

constexpr std::string_view kBatch[] = {"batch", "batches", "minibatch", "minibatches"};

bool hasWord(std::string_view function, std::span<const std::string_view> words) {
  const std::vector<std::string> own = splitName(function);
  return std::find_first_of(own.begin(), own.end(), words.begin(), words.end()) != own.end();
}

}  // namespace

std::map<FunctionName, CallLines> callsOfSteps(const Trace& trace, ThreadId thread) {
  std::map<std::pair<std::uint32_t, FunctionName>, std::vector<std::uint32_t>> lines;
  for (const auto& row : trace.stepPlaces)
    if (row.data.thread == thread)
      lines[{row.data.optimizer, {row.data.function, row.data.file}}].push_back(row.data.line);
  std::map<FunctionName, CallLines> found;
  for (const auto& [of, called] : lines)
    for (const std::uint32_t line : called)
      if (line == called.back() || std::count(called.begin(), called.end(), line) > 1) {
        CallLines& known = found.try_emplace(of.second, CallLines{line, line}).first->second;
        known = {std::min(known.first, line), std::max(known.last, line)};
      }
  return found;
}

void OwnSamples::see(const Sample& sample) {
  ++all;
  writes += sample.wait == Wait::kFileWrite;
  asleep += sample.wait == Wait::kSleep;
  awaits += isForOthers(sample.wait);
  locked += sample.stack->gil == Gil::kHolds;
  unlocked += sample.stack->gil == Gil::kReleased && sample.wait == Wait::kRunning;
}

void OwnSamples::see(const Trace& trace, const NativeSlice& native, NativeClass is) {
  countSources(is, trace.text(native.function), native.samples, *this);
  const auto ofOperators = operatorsCode(is, trace.text(native.file));
  if (ofOperators) (*ofOperators ? operators : others) += native.samples;
}

void OwnSamples::claim(const PhaseRule& rule) {
  if (rule.id == "torch.backward") update = backward = all;
  logs = (rule.overhead == OverheadKind::kLogging) * all;
  data = namesData(rule) * all;
  model = namesModel(rule) * all;
  arrays = rule.arrays * all;
  framework = namesOperators(rule) * all;
  programs = (rule.id == kOwnProgram) * framework;
  results = awaitsResults(rule) * all;
  usualModel = namesWork(rule) * (all - inLong);
  usualResults = awaitsResults(rule) * (all - inLong);
}

void OwnSamples::add(const OwnSamples& more) {
  addMembers<&OwnSamples::all, &OwnSamples::data, &OwnSamples::model, &OwnSamples::arrays,
             &OwnSamples::framework, &OwnSamples::programs, &OwnSamples::results,
             &OwnSamples::usualModel, &OwnSamples::usualResults, &OwnSamples::update,
             &OwnSamples::backward, &OwnSamples::optimizer, &OwnSamples::writes, &OwnSamples::logs,
             &OwnSamples::asleep, &OwnSamples::awaits, &OwnSamples::before, &OwnSamples::after,
             &OwnSamples::operators, &OwnSamples::others, &OwnSamples::unlocked,
             &OwnSamples::locked, &OwnSamples::sources, &OwnSamples::stores, &OwnSamples::inLong>(
      *this, more);
  firstLong = std::min(firstLong, more.firstLong);
  lastLong = std::max(lastLong, more.lastLong);
  plays = plays || more.plays;
}

bool namesPlay(std::string_view function) {
  constexpr std::string_view kPlaying[] = {"env",      "envs",    "environment", "rollout",
                                           "rollouts", "collect", "episode",     "episodes",
                                           "explore",  "play",    "trajectory",  "trajectories"};
  return hasWord(function, kPlaying);
}

bool fetchesBatches(std::string_view function) {
  constexpr std::string_view kFetching[] = {"get", "next", "load", "make", "read", "fetch"};
  return hasWord(function, kBatch) && hasWord(function, kFetching);
}

bool namesBatches(std::string_view function) {
  constexpr std::string_view kPreparing[] = {"collate", "augment", "preprocess", "tokenize"};
  return hasWord(function, kBatch) || hasWord(function, kPreparing);
}

bool endsSteps(std::string_view function) {
  constexpr std::string_view kCallbacks[] = {"on_train_batch_end", "on_batch_end", "on_step_end"};
  const std::string_view name = function.substr(function.rfind('.') + 1);
  return std::find(std::begin(kCallbacks), std::end(kCallbacks), name) != std::end(kCallbacks);
}

bool stepsEnvironment(std::string_view function, bool noModel) {
  constexpr std::string_view kOfClass[] = {"env", "environment"};
  constexpr std::string_view kOptimizers[] = {"optim", "optimizer", "sgd",       "adam",    "adamw",
                                              "lion",  "momentum",  "scheduler", "adagrad", "lr"};
  const bool step = function.ends_with(".step");
  if (!step && !function.ends_with(".reset")) return false;
  return hasWord(function, kOfClass) || (step && noModel && !hasWord(function, kOptimizers));
}

}  // namespace stallprof
