// SPDX-License-Identifier: MIT
#include "sampler/python/runtime/stack_copy.h"

#include <algorithm>

namespace stallprof::python {
namespace {

constexpr std::size_t kMaxScattered = 384;  // with two copies within one call's 1,024 spans
// Frames may be pushed after the end of the chunk was read.
constexpr std::uint32_t kBeyondTop = 512;

}  // namespace

void StackCopy::add(Address at, std::uint64_t bytes) {
  const std::size_t first =
      segments_.empty() ? 0 : segments_.back().first + 2 * std::size_t{segments_.back().bytes};
  segments_.push_back({at, static_cast<std::uint32_t>(bytes), first});
}

void StackCopy::plan(const Layout& layout, Address currentAt, Address newest, Address top,
                     StackMemory& kept) {
  segments_.clear();
  currentAt_ = kept.currentAt = currentAt;
  newest_ = newest;
  frameBytes_ = layout.frameBytes;
  if (newest != kept.newest) kept.chunks.clear();
  kept.newest = newest;
  kept.top = top;
  // The rest of the chunk's last page is mapped whatever lies behind `top`.
  if (newest != 0 && top > newest && top - newest <= kChunkLimit) {
    const Address page = (top + 4095) & ~Address{4095};
    add(newest, std::min<Address>(top + kBeyondTop, page) - newest);
    for (const StackMemory::Chunk& older : kept.chunks) add(older.at, older.bytes);
  }
  next_ = chunks_ = segments_.size();
  if (kept.scattered.size() > kMaxScattered) kept.scattered.resize(kMaxScattered);
  for (const Address frame : kept.scattered) add(frame, layout.frameBytes);
  const std::size_t total =
      segments_.empty() ? 0 : segments_.back().first + 2 * std::size_t{segments_.back().bytes};
  if (bytes_.size() < total) bytes_.resize(total);
}

void StackCopy::addSpans(std::vector<RemoteSpan>& spans) {
  for (int round = 0; round < 2; ++round) {
    spans.push_back({currentAt_, &current_[round], sizeof(Address)});
    for (const Segment& s : segments_)
      spans.push_back({s.at, bytes_.data() + s.first + (round == 0 ? 0 : s.bytes), s.bytes});
  }
}

const std::uint8_t* StackCopy::bytesOf(const Segment& s, Address at, bool second) const {
  return bytes_.data() + s.first + (second ? s.bytes : 0) + (at - s.at);
}

StackCopy::Found StackCopy::find(Address frame, bool second) {
  for (std::size_t i = 0; i < chunks_; ++i) {
    const Segment& s = segments_[i];
    if (frame >= s.at && frame - s.at <= s.bytes && s.bytes - (frame - s.at) >= frameBytes_)
      return {bytesOf(s, frame, second), true};
  }
  // They are met in the order in which they were met at the last sample, but for some.
  const std::size_t scattered = segments_.size() - chunks_;
  for (std::size_t tried = 0; tried < scattered; ++tried) {
    if (next_ >= segments_.size()) next_ = chunks_;
    const Segment& s = segments_[next_++];
    if (s.at == frame) return {bytesOf(s, frame, second), false};
  }
  return {};
}

}  // namespace stallprof::python
