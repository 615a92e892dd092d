// SPDX-License-Identifier: MIT
#include "agent/nvtx/ranges.h"

#include <string.h>

#include <atomic>

#include "agent/process/event_slot.h"
#include "agent/process/system.h"
#include "event/kinds.h"
#include "event/vocabulary.h"

namespace stallprof::agent {
namespace {

constexpr int kDeepest = 32;          // of pushed ranges of a thread; deeper ones are dropped
constexpr std::uint32_t kOpen = 256;  // rangesStarted and not yet ended, in the process
// Beyond it ranges are dropped and counted: a recording is not for every operator of a framework
// (PyTorch's emit_nvtx makes a hundred thousand a second).
constexpr std::uint32_t kMaxASecond = 20'000;

struct Stack {  // of a thread
  int count;
  int overflow;  // pushed ranges that had no room
  std::uint32_t generation;
  RangeBegin range[kDeepest];
};
constinit thread_local Stack threadStack{};

// The calling thread's; what a forked child inherits is its parent's to end.
Stack& ownStack() {
  Stack& stack = threadStack;
  const std::uint32_t generation = forkGeneration();
  if (stack.generation != generation) {
    stack.count = stack.overflow = 0;
    stack.generation = generation;
  }
  return stack;
}

struct Started {
  std::atomic<std::uint32_t> state;  // use * 4 + 0: free, 1: being written, 2: open
  RangeBegin begin;
};
constinit Started rangesStarted[kOpen]{};
std::atomic<std::uint32_t> nextStarted;

bool isTooMany(std::uint64_t at) {
  static std::atomic<std::uint64_t> second;
  static std::atomic<std::uint32_t> count;
  const std::uint64_t now = at >> 30;  // 1.07 s: near enough
  if (second.load(std::memory_order_relaxed) != now) {
    second.store(now, std::memory_order_relaxed);
    count.store(0, std::memory_order_relaxed);
  }
  return count.fetch_add(1, std::memory_order_relaxed) >= kMaxASecond;
}

Value text(const char* from) { return {strlen(from), from}; }

Value number(std::int64_t n) { return {static_cast<std::uint64_t>(n), nullptr}; }

void put(const RangeBegin& r, std::uint64_t end) {
  if (isTooMany(end)) return dropEvent();
  char category[64];
  categoryName(r.domain, r.category, category);
  const Value duration{end - r.at, nullptr};
  const Value values[] = {
      duration,       text(r.name),    text(r.domain != nullptr ? r.domain->name : ""),
      text(category), number(r.depth), number(r.bytes)};
  putEvent(STALLPROF_KIND_RANGE, r.at, r.tid, values, 6);
  const Phase phase = end != r.at ? phaseNamed(r.name) : Phase::kUnknown;
  if (phase == Phase::kUnknown) return;
  const Value span[] = {duration, number(static_cast<int>(phase)),
                        number(static_cast<int>(SpanSource::kNvtx)), text(r.name)};
  putEvent(STALLPROF_KIND_PHASE_SPAN, r.at, r.tid, span, 4);
}

std::uint32_t depthIn(const Stack& stack, const NvtxDomain* domain) {
  std::uint32_t depth = 0;
  for (int i = 0; i < stack.count; ++i) depth += stack.range[i].domain == domain;
  return depth;
}

}  // namespace

int pushRange(const RangeBegin& begin) {
  Stack& stack = ownStack();
  const std::uint32_t depth = depthIn(stack, begin.domain);
  if (stack.count == kDeepest) {
    dropEvent();
    return static_cast<int>(depth) + stack.overflow++;
  }
  RangeBegin& top = stack.range[stack.count++];
  memcpy(&top, &begin, offsetof(RangeBegin, name) + strlen(begin.name) + 1);
  top.depth = depth;
  return static_cast<int>(depth);
}

int popRange(const NvtxDomain* domain) {
  Stack& stack = ownStack();
  if (stack.overflow != 0) return --stack.overflow + kDeepest;
  int i = stack.count - 1;
  while (i >= 0 && stack.range[i].domain != domain) --i;
  if (i < 0) return -1;  // a pop without a push
  put(stack.range[i], monotonicNs());
  --stack.count;
  for (int j = i; j < stack.count; ++j) stack.range[j] = stack.range[j + 1];
  return static_cast<int>(depthIn(stack, domain));
}

std::uint64_t startRange(const RangeBegin& begin) {
  const std::uint32_t first = nextStarted.fetch_add(1, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < kOpen; ++i) {
    const std::uint32_t n = (first + i) % kOpen;
    std::uint32_t state = rangesStarted[n].state.load(std::memory_order_relaxed);
    if (state % 4 != 0 || !rangesStarted[n].state.compare_exchange_strong(state, state + 1))
      continue;
    rangesStarted[n].begin = begin;
    rangesStarted[n].begin.generation = forkGeneration();
    rangesStarted[n].state.store(state + 2, std::memory_order_release);
    return (static_cast<std::uint64_t>(state + 2) << 32) | (n + 1);
  }
  dropEvent();
  return 0;
}

void endRange(std::uint64_t id) {
  const auto n = static_cast<std::uint32_t>(id) - 1;
  auto state = static_cast<std::uint32_t>(id >> 32);
  // One end for one start: a second, or one for what is no id, finds another generation.
  if (n >= kOpen || state % 4 != 2) return;
  const RangeBegin begin = rangesStarted[n].begin;
  if (!rangesStarted[n].state.compare_exchange_strong(state, state + 2)) return;
  if (begin.generation == forkGeneration()) put(begin, monotonicNs());
}

void mark(const RangeBegin& begin) { put(begin, begin.at); }

}  // namespace stallprof::agent
