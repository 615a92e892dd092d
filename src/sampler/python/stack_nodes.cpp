// SPDX-License-Identifier: MIT
#include "sampler/python/stack_nodes.h"

#include <algorithm>
#include <span>

namespace stallprof::python {
namespace {

constexpr std::size_t kMaxRecorded = 256;  // frames of one stack, innermost
constexpr unsigned kHopeless = 200;        // code objects in a row that were none

}  // namespace

StackId StackNodes::of(Thread& thread, std::vector<RawFrame>& frames, RemoteMemory& memory,
                       Nanos now, EventOut& out) {
  // Of a very deep stack the outer frames are one remark.
  const std::size_t hidden = frames.size() > kMaxRecorded ? frames.size() - kMaxRecorded : 0;
  // What is as it was keeps its nodes, as long as its code was compared with the process not long
  // ago.
  std::size_t same = 0;
  if (now - thread.since >= CodeCache::kTrusted)
    thread.since = now;
  else if (hidden == thread.hidden)
    while (same < frames.size() && same < thread.nodes.size() &&
           frames[same] == thread.frames[same])
      ++same;
  if (const std::size_t first = std::max(same, hidden); first < frames.size())
    codes_.compare(std::span(frames).subspan(first), now, memory);
  thread.hidden = hidden;
  thread.nodes.resize(same);
  thread.frames.swap(frames);
  for (std::size_t i = same; i < thread.frames.size(); ++i) {
    const StackId node = i < hidden ? truncated(now, out) : nodeOf(thread, i, memory, now, out);
    if (node.none()) return {};
    thread.nodes.push_back(node);
  }
  return thread.nodes.empty() ? StackId{} : thread.nodes.back();
}

bool StackNodes::hopeless() const { return badCodes_ > kHopeless && goodCodes_ == 0; }

StackId StackNodes::truncated(Nanos now, EventOut& out) {
  StackSeen seen;
  seen.function = out.intern("(truncated)");
  seen.kind = FrameKind::kOther;
  return tree_.node(seen, now, out);
}

StackId StackNodes::nodeOf(const Thread& thread, std::size_t index, RemoteMemory& memory, Nanos now,
                           EventOut& out) {
  const RawFrame& frame = thread.frames[index];
  Code* code = codes_.at(frame.code, now, memory);
  ++(code == nullptr ? badCodes_ : goodCodes_);
  if (code == nullptr) return {};
  // The frame under the __init__ of a class whose call the interpreter specialised, from 3.13 on
  // (_Py_InitCleanup): Python's own tracebacks leave it out, too.
  if (index > 0 && code->function == "__init__" && code->file == "__init__")
    return thread.nodes[index - 1];
  if (code->functionId.none()) {
    code->functionId = out.intern(code->function);
    code->fileId = out.intern(code->file);
  }
  StackSeen seen;
  if (index > 0) seen.caller = thread.nodes[index - 1];
  seen.function = code->functionId;
  seen.file = code->fileId;
  seen.firstLine = code->firstLine;
  const Place place = codes_.placeOf(*code, frame, memory);
  seen.line = place.line;
  seen.iterates = place.iterates;
  return tree_.node(seen, now, out);
}

}  // namespace stallprof::python
