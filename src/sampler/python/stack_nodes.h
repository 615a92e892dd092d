// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "event/event_out.h"
#include "sampler/python/runtime/code_cache.h"
#include "sampler/python/stack_tree.h"

namespace stallprof::python {

// The stacks of one process image as nodes of the tree of all stacks: from the frames that were
// read to functions, files and lines.
class StackNodes {
 public:
  // What is kept of a thread: frames that are as they were at the last sample have the nodes they
  // had.
  struct Thread {
    std::vector<RawFrame> frames;  // of the last sample, outermost first
    std::vector<StackId> nodes;    // of these
    std::size_t hidden = 0;        // outer frames that are the one remark "(truncated)"
    Nanos since{};                 // when their code was last compared with the process
  };

  // `tree` outlives it; the others are as CodeCache takes them.
  StackNodes(const Layout& layout, Address codeType, StackTree& tree)
      : codes_(layout, codeType), tree_(tree) {}

  // The node of the innermost of `frames` (outermost first; swapped into `thread`); none when some
  // frame's code cannot be read, or there is no frame.
  [[nodiscard]] StackId of(Thread& thread, std::vector<RawFrame>& frames, RemoteMemory& memory,
                           Nanos now, EventOut& out);
  // Nothing that frames pointed to was a code object, many times: not a layout that is known.
  [[nodiscard]] bool hopeless() const;

 private:
  [[nodiscard]] StackId nodeOf(const Thread& thread, std::size_t index, RemoteMemory& memory,
                               Nanos now, EventOut& out);
  [[nodiscard]] StackId truncated(Nanos now, EventOut& out);

  CodeCache codes_;
  StackTree& tree_;
  unsigned badCodes_ = 0, goodCodes_ = 0;
};

}  // namespace stallprof::python
