// SPDX-License-Identifier: MIT
#include "present/timeline/native_frames.h"

#include "analysis/facts/analysis.h"
#include "classify/frames.h"
#include "classify/native_class.h"

namespace stallprof {

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

std::vector<std::pair<std::string, std::uint64_t>> NativeFrames::split(StackId stack,
                                                                       std::uint64_t total) const {
  const auto found = under_.find(stack);
  if (found == under_.end()) return {{std::string(), total}};
  std::map<std::string, std::uint64_t> samples;
  std::uint64_t all = 0;
  for (const auto& [place, count] : found->second) samples[nameOf(place)] += count, all += count;
  std::vector<std::pair<std::string, std::uint64_t>> parts;
  std::uint64_t passed = 0, given = 0;
  for (const auto& [name, count] : samples) {
    passed += count;
    // Rounded at each end, so that the parts sum.
    const auto upTo = static_cast<std::uint64_t>(
        static_cast<double>(total) * static_cast<double>(passed) / static_cast<double>(all) + 0.5);
    if (upTo > given) parts.emplace_back(name, upTo - given);
    given = upTo;
  }
  return parts;
}

NativeFrames::Alone NativeFrames::alone(const ThreadLife& thread) const {
  Alone named;
  if (!thread.stacks.empty()) return named;
  std::map<std::pair<StackId, Place>, std::uint64_t> samples;
  for (const auto& row : thread.natives)
    samples[{row.data.stack, {row.data.file, row.data.function}}] += row.data.samples;
  for (const auto& [key, count] : samples) {
    const auto& [stack, place] = key;
    std::string name = nameOf(place);
    if (name.empty()) name = "(interpreter)";
    named[{spins(place) ? StackId{} : stack, std::move(name)}] += count;
  }
  return named;
}

bool NativeFrames::spins(const Place& place) const {
  return nativeClass(trace_.text(place.first), readableSymbol(trace_.text(place.second))) ==
         NativeClass::kSpin;
}

}  // namespace stallprof
