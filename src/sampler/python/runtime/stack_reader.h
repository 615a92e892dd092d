// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "sampler/python/runtime/layout.h"
#include "sampler/python/runtime/remote_memory.h"

namespace stallprof::python {

// A frame as it was read: of which code, and where in it.
struct RawFrame {
  Address at = 0, code = 0;
  std::uint64_t instruction = 0;
  std::uint32_t copy = 0;  // which copy of the code's instructions that is in; 0: its own
  friend bool operator==(const RawFrame&, const RawFrame&) = default;
};

// What is kept of a thread between samples, so that the next one needs one call.
struct StackMemory {
  struct Chunk {
    Address at = 0;
    std::uint32_t bytes = 0;
  };
  std::vector<Chunk> chunks;       // older ones of the data stack, newest first; not the current
  std::vector<Address> scattered;  // frames outside of them: generators, calls from C, up to 3.10
  Address newest = 0;              // the chunk `chunks` are older than
};

// Reads the frames of a thread that is not stopped, by a double snapshot (double collect, as in
// atomic snapshots of shared memory): one process_vm_readv copies all of the thread's frames twice,
// and both copies are walked from their innermost frame. Calls are nested, so a frame that both
// copies hold at the same depth from the outermost end was there all the time between the two: the
// common prefix is a stack that existed. What differs was entered or left meanwhile and is cut off.
// A stack may therefore lack frames that live for microseconds, but shows none that was not there:
// on a script that calls and returns without pause 0.00 to 0.04 % of stacks were wrong, of a single
// walk 7 to 45 %. Bounds: kMaxFrames frames, 32 chunks of at most 256 KiB, 384 frames outside of
// them, and 1,100 frames read one by one; the rest of a deeper stack is left out.
class StackReader {
 public:
  // At CPython's default limits a thread is at most 1,000 frames deep; 3.12 allows more in C.
  static constexpr std::size_t kMaxFrames = 1024;

  enum class Outcome {
    kWhole,      // to the innermost frame
    kCut,        // without frames that changed while they were read
    kTorn,       // nothing in common: try again later
    kUnreadable  // what the thread state points to is not there
  };
  // `state`: the first layout.threadBytes of the PyThreadState at `at`. `frames` is filled, the
  // outermost first; empty and kWhole for a thread outside Python.
  [[nodiscard]] Outcome read(const Layout& layout, Address at, std::span<const std::uint8_t> state,
                             RemoteMemory& memory, StackMemory& kept,
                             std::vector<RawFrame>& frames);

 private:
  struct Segment {
    Address at = 0;
    std::uint32_t bytes = 0;
    std::size_t first = 0, second = 0;  // where its copies lie
  };
  struct Walked {
    std::vector<RawFrame> frames;  // innermost first, shims left out
    bool whole = false;            // reached the outermost frame
  };
  void plan(const Layout& layout, std::span<const std::uint8_t> state, StackMemory& kept);
  void add(Address at, std::uint64_t bytes);
  [[nodiscard]] bool copy(Address currentAt, RemoteMemory& memory);
  void walk(const Layout& layout, Address from, bool second, RemoteMemory& memory,
            StackMemory& kept, Walked& walked);
  [[nodiscard]] const std::uint8_t* find(Address at, std::uint32_t bytes, bool second) const;
  [[nodiscard]] bool copyAll(const Layout& layout, std::span<const std::uint8_t> state,
                             Address currentAt, RemoteMemory& memory, StackMemory& kept);
  void followChunks(Address newest, RemoteMemory& memory, StackMemory& kept);

  std::vector<Segment> segments_;
  std::unordered_map<Address, std::size_t> frameSegments_;  // scattered frames, by address
  std::size_t chunkSegments_ = 0;
  std::vector<std::uint8_t> bytes_;
  std::vector<RemoteSpan> spans_;
  Address current_[2] = {0, 0};
  Walked walked_[2];
  std::vector<Address> visited_;
  unsigned misses_ = 0;
};

}  // namespace stallprof::python
