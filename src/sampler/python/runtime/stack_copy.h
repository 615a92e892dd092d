// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "sampler/python/runtime/layout.h"
#include "sampler/python/runtime/remote_memory.h"

namespace stallprof::python {

// What is kept of a thread between samples, so that the next one needs one call.
struct StackMemory {
  struct Chunk {
    Address at = 0;
    std::uint32_t bytes = 0;
  };
  std::vector<Chunk> chunks;       // older ones of the data stack, newest first; not the current
  std::vector<Address> scattered;  // frames outside of them: generators, calls from C, up to 3.10
  Address newest = 0;              // the chunk `chunks` are older than
  Address top = 0;                 // where that one ended
  unsigned rest = 0;               // so many samples before it is read again: it was too deep
  Address currentAt = 0;           // where its current frame was noted; 0: not known
};

// The parts of one thread's stack, copied twice by one call: the address of its current frame, then
// all parts, then both again. The call may copy the stacks of many threads.
class StackCopy {
 public:
  // A chunk of the data stack is 16 KiB and grows only for a frame larger than that
  // (Python/pystate.c, DATA_STACK_CHUNK_SIZE).
  static constexpr std::uint32_t kChunkLimit = 256u << 10;

  // Where the parts are: what is kept of the thread, with the newest chunk and its end as the
  // thread state has them, or had them at the last sample.
  void plan(const Layout& layout, Address currentAt, Address newest, Address top,
            StackMemory& kept);
  void addSpans(std::vector<RemoteSpan>& spans);
  [[nodiscard]] std::size_t spans() const { return 2 * (1 + segments_.size()); }
  [[nodiscard]] std::size_t bytes() const { return bytes_.size(); }
  // It was planned for a thread whose state says that.
  [[nodiscard]] bool fits(Address currentAt, Address newest) const {
    return currentAt_ == currentAt && newest_ == newest;
  }

  struct Found {
    const std::uint8_t* bytes = nullptr;  // nothing: not copied
    bool inChunk = false;
  };
  // A frame in the first or second copy.
  [[nodiscard]] Found find(Address frame, bool second);
  [[nodiscard]] Address current(bool second) const { return current_[second ? 1 : 0]; }

 private:
  struct Segment {
    Address at = 0;
    std::uint32_t bytes = 0;
    std::size_t first = 0;  // where its copies lie, the second behind the first
  };
  void add(Address at, std::uint64_t bytes);
  [[nodiscard]] const std::uint8_t* bytesOf(const Segment& segment, Address at, bool second) const;

  std::vector<Segment> segments_;  // chunks, then scattered frames
  std::size_t chunks_ = 0;         // how many of them are chunks
  std::size_t next_ = 0;           // the segment after the scattered frame that was found last
  std::vector<std::uint8_t> bytes_;
  Address currentAt_ = 0, newest_ = 0;
  std::uint32_t frameBytes_ = 0;
  Address current_[2] = {0, 0};
};

}  // namespace stallprof::python
