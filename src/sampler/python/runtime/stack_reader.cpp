// SPDX-License-Identifier: MIT
#include "sampler/python/runtime/stack_reader.h"

#include <algorithm>
#include <array>

namespace stallprof::python {
namespace {

// A chunk of the data stack is 16 KiB and grows only for a frame larger than that
// (Python/pystate.c, DATA_STACK_CHUNK_SIZE); its header is previous, size, top (pycore_frame.h).
constexpr std::uint32_t kChunkHeader = 24;
constexpr std::uint32_t kChunkLimit = 256u << 10;
constexpr std::size_t kMaxChunks = 32;
constexpr std::size_t kMaxScattered = 384;  // with two copies within one call's 1,024 spans
constexpr unsigned kMaxMisses = 1100;       // frames read one by one, 1.5 us each
constexpr unsigned kFewMisses = 8;
// The innermost frame may be pushed after its thread state was read.
constexpr std::uint32_t kBeyondTop = 512;

// _PyStackChunk.top counts words from the end of the header.
std::uint32_t usedOf(std::uint64_t size, std::uint64_t top) {
  const std::uint64_t used = kChunkHeader + std::min<std::uint64_t>(top, kChunkLimit) * 8;
  return static_cast<std::uint32_t>(
      std::min({used, std::max<std::uint64_t>(size, kChunkHeader), std::uint64_t{kChunkLimit}}));
}

}  // namespace

void StackReader::add(Address at, std::uint64_t bytes) {
  segments_.push_back({at, static_cast<std::uint32_t>(bytes), 0, 0});
}

void StackReader::plan(const Layout& layout, std::span<const std::uint8_t> state,
                       StackMemory& kept) {
  segments_.clear();
  frameSegments_.clear();
  if (layout.chunk != 0) {
    const auto chunk = valueAt<Address>(state, layout.chunk);
    const auto top = valueAt<Address>(state, layout.chunk + 8);
    if (chunk != kept.newest) kept.chunks.clear();
    kept.newest = chunk;
    // The rest of the chunk's last page is mapped whatever lies behind `top`.
    if (chunk != 0 && top > chunk && top - chunk <= kChunkLimit) {
      const Address page = (top + 4095) & ~Address{4095};
      add(chunk, std::min<Address>(top + kBeyondTop, page) - chunk);
      for (const StackMemory::Chunk& older : kept.chunks) add(older.at, older.bytes);
    }
  }
  chunkSegments_ = segments_.size();
  if (kept.scattered.size() > kMaxScattered) kept.scattered.resize(kMaxScattered);
  for (const Address frame : kept.scattered) {
    frameSegments_.emplace(frame, segments_.size());
    add(frame, layout.frameBytes);
  }
}

// Both copies in one call: the current frame, then all segments, then both again.
bool StackReader::copy(Address currentAt, RemoteMemory& memory) {
  std::size_t total = 0;
  for (Segment& segment : segments_) {
    segment.first = total;
    total += segment.bytes;
    segment.second = total;
    total += segment.bytes;
  }
  if (bytes_.size() < total) bytes_.resize(total);
  spans_.clear();
  for (int round = 0; round < 2; ++round) {
    spans_.push_back({currentAt, &current_[round], sizeof(Address)});
    for (const Segment& s : segments_)
      spans_.push_back({s.at, bytes_.data() + (round == 0 ? s.first : s.second), s.bytes});
  }
  return memory.read(spans_) == spans_.size();
}

const std::uint8_t* StackReader::find(Address at, std::uint32_t bytes, bool second) const {
  const auto of = [&](const Segment& s) {
    return bytes_.data() + (second ? s.second : s.first) + (at - s.at);
  };
  for (std::size_t i = 0; i < chunkSegments_; ++i) {
    const Segment& s = segments_[i];
    if (at >= s.at && at - s.at <= s.bytes && s.bytes - (at - s.at) >= bytes) return of(s);
  }
  const auto found = frameSegments_.find(at);
  return found == frameSegments_.end() ? nullptr : of(segments_[found->second]);
}

void StackReader::walk(const Layout& layout, Address from, bool second, RemoteMemory& memory,
                       StackMemory& kept, Walked& walked) {
  walked.frames.clear();
  walked.whole = false;
  std::array<std::uint8_t, 256> own{};
  visited_.clear();
  // 3.14 keeps marks in the low bits of references (_PyStackRef).
  const Address mask = layout.minor() >= 14 ? ~Address{3} : ~Address{0};
  std::size_t steps = 0;
  for (Address at = from; at != 0; ++steps) {
    if (steps > 2 * kMaxFrames || (at & 7) != 0) return;
    const std::uint8_t* bytes = find(at, layout.frameBytes, second);
    if (bytes == nullptr) {
      if (++misses_ > kMaxMisses || !memory.readBytes(at, own.data(), layout.frameBytes)) return;
      bytes = own.data();
    }
    const std::span<const std::uint8_t> frame(bytes, layout.frameBytes);
    const auto owner = layout.owner == 0 ? std::uint8_t{0} : frame[layout.owner];
    if (!layout.ownerIsKnown(owner)) return;
    if (find(at, layout.frameBytes, second) == nullptr || frameSegments_.contains(at))
      visited_.push_back(at);
    if (!layout.isShim(owner)) {
      const std::uint64_t instruction = layout.heapFrames()
                                            ? valueAt<std::uint32_t>(frame, layout.instruction)
                                            : valueAt<std::uint64_t>(frame, layout.instruction);
      const auto copy = layout.copyIndex == 0 ? 0 : valueAt<std::uint32_t>(frame, layout.copyIndex);
      walked.frames.push_back({at, valueAt<Address>(frame, layout.code) & mask, instruction, copy});
    }
    at = valueAt<Address>(frame, layout.back);
  }
  walked.whole = true;
  kept.scattered = visited_;
}

// The data stack has grown past its newest chunk: the older ones are read whole from now on.
void StackReader::followChunks(Address newest, RemoteMemory& memory, StackMemory& kept) {
  if (newest == 0) return;
  struct Header {
    Address previous;
    std::uint64_t size, top;
  } header{};
  static_assert(sizeof header == kChunkHeader);
  kept.chunks.clear();
  if (!memory.readBytes(newest, &header, sizeof header)) return;
  for (Address at = header.previous; at != 0 && kept.chunks.size() < kMaxChunks;
       at = header.previous) {
    if (!memory.readBytes(at, &header, sizeof header)) return;
    kept.chunks.push_back({at, usedOf(header.size, header.top)});
  }
  // Those frames need not be asked for one by one any more.
  std::erase_if(kept.scattered, [&](Address frame) {
    return std::any_of(kept.chunks.begin(), kept.chunks.end(), [&](const StackMemory::Chunk& c) {
      return frame >= c.at && frame - c.at < c.bytes;
    });
  });
}

bool StackReader::copyAll(const Layout& layout, std::span<const std::uint8_t> state,
                          Address currentAt, RemoteMemory& memory, StackMemory& kept) {
  plan(layout, state, kept);
  if (copy(currentAt, memory)) return true;
  kept.scattered.clear(), kept.chunks.clear();  // some frame that is gone
  plan(layout, state, kept);
  return copy(currentAt, memory);
}

StackReader::Outcome StackReader::read(const Layout& layout, Address at,
                                       std::span<const std::uint8_t> state, RemoteMemory& memory,
                                       StackMemory& kept, std::vector<RawFrame>& frames) {
  frames.clear();
  misses_ = 0;
  Address currentAt = at + layout.frame;
  if (layout.viaCframe) {
    const auto cframe = valueAt<Address>(state, layout.frame);
    if (cframe == 0) return Outcome::kWhole;
    currentAt = cframe + layout.cframeFrame;
  }
  if (!copyAll(layout, state, currentAt, memory, kept)) return Outcome::kUnreadable;
  walk(layout, current_[0], false, memory, kept, walked_[0]);
  if (misses_ > kFewMisses && walked_[0].whole) {  // new ground: now we know what to copy
    followChunks(kept.newest, memory, kept);
    misses_ = 0;
    if (!copyAll(layout, state, currentAt, memory, kept)) return Outcome::kUnreadable;
    walk(layout, current_[0], false, memory, kept, walked_[0]);
  }
  walk(layout, current_[1], true, memory, kept, walked_[1]);
  const auto& first = walked_[0].frames;
  const auto& second = walked_[1].frames;
  if (!walked_[0].whole || !walked_[1].whole) return Outcome::kTorn;
  if (first.empty() && second.empty()) return Outcome::kWhole;
  std::size_t i = first.size(), j = second.size();
  while (i > 0 && j > 0 && first[i - 1].at == second[j - 1].at &&
         first[i - 1].code == second[j - 1].code) {
    frames.push_back(second[j - 1]);
    --i;
    --j;
  }
  if (frames.empty()) return Outcome::kTorn;
  return i == 0 && j == 0 ? Outcome::kWhole : Outcome::kCut;
}

}  // namespace stallprof::python
