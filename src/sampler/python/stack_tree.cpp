// SPDX-License-Identifier: MIT
#include "sampler/python/stack_tree.h"

namespace stallprof::python {

std::size_t StackTree::Hash::operator()(const Key& key) const noexcept {
  std::uint64_t hash = 0;
  for (const std::uint64_t part :
       {std::uint64_t{key.caller} << 32 | key.function, std::uint64_t{key.file} << 32 | key.line,
        std::uint64_t{key.firstLine} << 9 | static_cast<std::uint64_t>(key.kind) << 1 |
            key.iterates}) {
    hash = (hash ^ part) * 0x9E3779B97F4A7C15ull;  // golden ratio, as Fibonacci hashing has it
    hash ^= hash >> 29;
  }
  return hash;
}

StackId StackTree::node(const StackSeen& frame, Nanos now, EventOut& out) {
  const Key key{frame.caller.value, frame.function.value, frame.file.value, frame.line,
                frame.firstLine,    frame.kind,           frame.iterates};
  if (const auto known = nodes_.find(key); known != nodes_.end()) return known->second;
  if (nodes_.size() + 1 >= kMax) {
    ++full_;
    if (!other_.none()) return other_;
    other_ = StackId{kMax};
    StackSeen other;
    other.stack = other_;
    other.function = out.intern("(other)");
    other.kind = FrameKind::kOther;
    out.emit(now, other);
    return other_;
  }
  StackSeen seen = frame;
  seen.stack = StackId{static_cast<std::uint32_t>(nodes_.size() + 1)};
  nodes_.emplace(key, seen.stack);
  out.emit(now, seen);
  return seen.stack;
}

}  // namespace stallprof::python
