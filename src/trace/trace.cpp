// SPDX-License-Identifier: MIT
#include "trace/trace.h"

namespace stallprof {
namespace {

template <class Life, class LifeId>
const Life& lifeOf(const std::vector<Life>& lives, LifeId id) {
  static const Life kNobody{};
  if (id.none() || id.value > lives.size()) return kNobody;
  return lives[id.value - 1];
}

}  // namespace

const ProcessLife& Trace::process(ProcessId id) const { return lifeOf(processes, id); }
const ThreadLife& Trace::thread(ThreadId id) const { return lifeOf(threads, id); }
const StackSeen& Trace::stack(StackId id) const { return lifeOf(stacks, id).data; }

}  // namespace stallprof
