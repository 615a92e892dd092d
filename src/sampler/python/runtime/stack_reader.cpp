// SPDX-License-Identifier: MIT
#include "sampler/python/runtime/stack_reader.h"

#include <algorithm>
#include <array>

namespace stallprof::python {
namespace {

// Of a chunk of the data stack: previous, size, top (pycore_frame.h).
constexpr std::uint32_t kChunkHeader = 24;
constexpr std::size_t kMaxChunks = 32;
constexpr std::uint8_t kOfGenerator = 1;  // FRAME_OWNED_BY_GENERATOR, 3.11 to 3.14
constexpr unsigned kMaxMisses = 1100;     // frames read one by one, 1.5 us each
constexpr unsigned kFewMisses = 8;
constexpr unsigned kRest = 64;  // samples
constexpr std::size_t kExpectedBytes = 1u << 20;

// _PyStackChunk.top counts words from the end of the header.
std::uint32_t usedOf(std::uint64_t size, std::uint64_t top) {
  const std::uint64_t used =
      kChunkHeader + std::min<std::uint64_t>(top, StackCopy::kChunkLimit) * 8;
  return static_cast<std::uint32_t>(std::min(
      {used, std::max<std::uint64_t>(size, kChunkHeader), std::uint64_t{StackCopy::kChunkLimit}}));
}

}  // namespace

void StackReader::expectNone(std::size_t spans) {
  expectedSpans_.clear();
  used_ = bytes_ = 0;
  room_ = spans;
}

StackCopy* StackReader::expect(const Layout& layout, StackMemory& kept) {
  if (kept.currentAt == 0 || bytes_ > kExpectedBytes) return nullptr;
  if (used_ == expected_.size()) expected_.emplace_back();
  StackCopy& copy = expected_[used_];
  copy.plan(layout, kept.currentAt, kept.newest, kept.top, kept);
  if (expectedSpans_.size() + copy.spans() > room_) return nullptr;
  copy.addSpans(expectedSpans_);
  bytes_ += copy.bytes();
  ++used_;
  return &copy;
}

void StackReader::walk(const Layout& layout, StackCopy& copy, bool second, RemoteMemory& memory,
                       StackMemory& kept) {
  Walked& walked = walked_[second ? 1 : 0];
  walked.frames.clear();
  walked.whole = walked.orphan = walked.tooDeep = false;
  std::array<std::uint8_t, 256> own{};
  visited_.clear();
  // 3.14 keeps marks in the low bits of references (_PyStackRef).
  const Address mask = layout.minor() >= 14 ? ~Address{3} : ~Address{0};
  std::size_t steps = 0;
  bool generator = false;
  // A chain whose frames changed while they were copied may lead back into itself, and is no deep
  // stack: it passes the frame again that was met at the last power of two (Brent's algorithm).
  Address met = 0;
  for (Address at = copy.current(second); at != 0; ++steps) {
    if ((at & 7) != 0 || at == met) return;
    if ((steps & (steps - 1)) == 0) met = at;
    if (steps > 2 * kMaxFrames) return void(walked.tooDeep = true);
    const StackCopy::Found found = copy.find(at, second);
    const std::uint8_t* bytes = found.bytes;
    if (bytes == nullptr) {
      if (++misses_ > kMaxMisses) return void(walked.tooDeep = true);
      if (!memory.readBytes(at, own.data(), layout.frameBytes)) return;
      bytes = own.data();
    }
    const std::span<const std::uint8_t> frame(bytes, layout.frameBytes);
    const auto owner = layout.owner == 0 ? std::uint8_t{0} : frame[layout.owner];
    if (!layout.ownerIsKnown(owner)) return;
    if (!found.inChunk) visited_.push_back(at);
    generator = layout.generator == 0 ? layout.owner != 0 && owner == kOfGenerator
                                      : valueAt<Address>(frame, layout.generator) != 0;
    if (!layout.isShim(owner)) {
      const std::uint64_t instruction = layout.heapFrames()
                                            ? valueAt<std::uint32_t>(frame, layout.instruction)
                                            : valueAt<std::uint64_t>(frame, layout.instruction);
      const auto index =
          layout.copyIndex == 0 ? 0 : valueAt<std::uint32_t>(frame, layout.copyIndex);
      walked.frames.push_back(
          {at, valueAt<Address>(frame, layout.code) & mask, instruction, index});
    }
    at = valueAt<Address>(frame, layout.back);
  }
  walked.whole = true;
  // A generator has a caller while it runs and none between: it was left as it was read.
  walked.orphan = generator;
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

bool StackReader::copyAll(const Layout& layout, const Place& place, RemoteMemory& memory,
                          StackMemory& kept) {
  const auto copy = [&] {
    own_.plan(layout, place.currentAt, place.newest, place.top, kept);
    spans_.clear();
    own_.addSpans(spans_);
    return memory.read(spans_) == spans_.size();
  };
  if (copy()) return true;
  kept.scattered.clear();  // some frame that is gone
  kept.chunks.clear();
  return copy();
}

// False: nothing can be said by it.
bool StackReader::walkCopied(const Layout& layout, StackCopy& copy, RemoteMemory& memory,
                             StackMemory& kept) {
  misses_ = kMaxMisses;  // read no frame one by one: a copy of its own costs no more
  for (const bool second : {false, true}) {
    walk(layout, copy, second, memory, kept);
    if (!walked_[second ? 1 : 0].whole) return false;
  }
  return true;
}

bool StackReader::walkAfresh(const Layout& layout, const Place& place, RemoteMemory& memory,
                             StackMemory& kept) {
  misses_ = 0;
  if (!copyAll(layout, place, memory, kept)) return false;
  walk(layout, own_, false, memory, kept);
  // New ground: now we know what to copy, or where what is too deep to be read by frames lies.
  if (misses_ > kFewMisses && (walked_[0].whole || kept.newest != 0)) {
    followChunks(kept.newest, memory, kept);
    misses_ = 0;
    if (!copyAll(layout, place, memory, kept)) return false;
    walk(layout, own_, false, memory, kept);
  }
  walk(layout, own_, true, memory, kept);
  if (walked_[0].tooDeep || walked_[1].tooDeep) kept.rest = kRest;
  return true;
}

// The frames that both walks met, from the outermost on.
StackReader::Outcome StackReader::compare(std::vector<RawFrame>& frames) const {
  const auto& first = walked_[0].frames;
  const auto& second = walked_[1].frames;
  if (walked_[0].tooDeep || walked_[1].tooDeep) return Outcome::kTooDeep;
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
  if (orphan()) return Outcome::kOrphan;
  return i == 0 && j == 0 ? Outcome::kWhole : Outcome::kCut;
}

StackReader::Place StackReader::placeOf(const Layout& layout, Address at,
                                        std::span<const std::uint8_t> state) {
  Place place{at + layout.frame, 0, 0};
  if (layout.viaCframe) {
    const auto cframe = valueAt<Address>(state, layout.frame);
    place.currentAt = cframe == 0 ? 0 : cframe + layout.cframeFrame;
  }
  if (layout.chunk != 0) {
    place.newest = valueAt<Address>(state, layout.chunk);
    place.top = valueAt<Address>(state, layout.chunk + 8);
  }
  return place;
}

StackReader::Outcome StackReader::read(const Layout& layout, Address at,
                                       std::span<const std::uint8_t> state, StackCopy* copied,
                                       RemoteMemory& memory, StackMemory& kept,
                                       std::vector<RawFrame>& frames) {
  frames.clear();
  const Place place = placeOf(layout, at, state);
  if (place.currentAt == 0) return Outcome::kWhole;
  if (copied != nullptr && copied->fits(place.currentAt, place.newest) &&
      walkCopied(layout, *copied, memory, kept) && !orphan()) {
    kept.top = place.top;
    return compare(frames);
  }
  if (kept.rest > 0) {
    --kept.rest;
    return Outcome::kTooDeep;
  }
  return walkAfresh(layout, place, memory, kept) ? compare(frames) : Outcome::kUnreadable;
}

}  // namespace stallprof::python
