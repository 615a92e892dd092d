// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "sampler/python/runtime/layout.h"
#include "sampler/python/runtime/remote_memory.h"
#include "sampler/python/runtime/stack_copy.h"

namespace stallprof::python {

// A frame as it was read: of which code, and where in it.
struct RawFrame {
  Address at = 0, code = 0;
  std::uint64_t instruction = 0;
  std::uint32_t copy = 0;  // which copy of the code's instructions that is in; 0: its own
  friend bool operator==(const RawFrame&, const RawFrame&) = default;
};

// Reads the frames of a thread that is not stopped, by a double snapshot (double collect, as in
// atomic snapshots of shared memory): one process_vm_readv copies all of the thread's frames twice,
// and both copies are walked from their innermost frame. Calls are nested, so a frame that both
// copies hold at the same depth from the outermost end was there all the time between the two: the
// common prefix is a stack that existed. What differs was entered or left meanwhile and is cut off.
// A stack may therefore lack frames that live for microseconds, but shows none that was not there:
// on a script that calls and returns without pause 0.00 to 0.04 % of stacks were wrong, of a single
// walk 7 to 45 %. Bounds: kMaxFrames frames, 32 chunks of at most 256 KiB, 384 frames outside of
// them, and 1,100 frames read one by one. A deeper stack is not read at all, as which of its frames
// are the same is known from the outermost alone, and is tried again some samples later.
//
// Where a stack lies is known from the thread's state, which takes a call to read. As it mostly
// lies where it lay at the last sample, the stacks of all threads of a process are copied by the
// call that reads their states (`expect`); one that has moved by its state, or has frames where
// nothing was copied, is copied again by a call of its own.
class StackReader {
 public:
  // At CPython's default limits a thread is at most 1,000 frames deep; 3.12 allows more in C.
  static constexpr std::size_t kMaxFrames = 1024;

  enum class Outcome {
    kWhole,      // to the innermost frame
    kCut,        // without frames that changed while they were read
    kTorn,       // nothing in common: try again later
    kTooDeep,    // past the bounds: of no use to try again at once
    kOrphan,     // ends at a generator that nobody runs: left meanwhile, or called from C alone
    kUnreadable  // what the thread state points to is not there
  };
  // Plans of one call for many threads begin: it has room for so many spans.
  void expectNone(std::size_t spans);
  // Plans to copy a thread's stack where it was at its last sample; nothing where that is not known
  // or there is no room. Valid until expectNone.
  [[nodiscard]] StackCopy* expect(const Layout& layout, StackMemory& kept);
  // Of all that are expected.
  [[nodiscard]] std::span<const RemoteSpan> expected() const { return expectedSpans_; }

  // `state`: the first layout.threadBytes of the PyThreadState at `at`. `copied`: of its stack, by
  // the call that read its state; may be nothing. `frames` is filled, the outermost first; empty
  // and kWhole for a thread outside Python.
  [[nodiscard]] Outcome read(const Layout& layout, Address at, std::span<const std::uint8_t> state,
                             StackCopy* copied, RemoteMemory& memory, StackMemory& kept,
                             std::vector<RawFrame>& frames);

 private:
  struct Walked {
    std::vector<RawFrame> frames;  // innermost first, shims left out
    bool whole = false;            // reached the outermost frame,
    bool orphan = false;           // which is a generator's;
    bool tooDeep = false;          // or gave up before
  };
  // Where a thread's state says that its stack is.
  struct Place {
    Address currentAt = 0, newest = 0, top = 0;
  };
  [[nodiscard]] static Place placeOf(const Layout& layout, Address at,
                                     std::span<const std::uint8_t> state);
  [[nodiscard]] bool walkCopied(const Layout& layout, StackCopy& copy, RemoteMemory& memory,
                                StackMemory& kept);
  [[nodiscard]] bool walkAfresh(const Layout& layout, const Place& place, RemoteMemory& memory,
                                StackMemory& kept);
  [[nodiscard]] bool copyAll(const Layout& layout, const Place& place, RemoteMemory& memory,
                             StackMemory& kept);
  void walk(const Layout& layout, StackCopy& copy, bool second, RemoteMemory& memory,
            StackMemory& kept);
  void followChunks(Address newest, RemoteMemory& memory, StackMemory& kept);
  [[nodiscard]] Outcome compare(std::vector<RawFrame>& frames) const;
  [[nodiscard]] bool orphan() const { return walked_[0].orphan || walked_[1].orphan; }

  StackCopy own_;
  std::deque<StackCopy> expected_;
  std::vector<RemoteSpan> spans_, expectedSpans_;
  std::size_t used_ = 0, room_ = 0, bytes_ = 0;  // of expected_
  Walked walked_[2];
  std::vector<Address> visited_;
  unsigned misses_ = 0;
};

}  // namespace stallprof::python
