// SPDX-License-Identifier: MIT
#include "recording/format/frame_scanner.h"

#include <algorithm>
#include <cstring>

#include "recording/format/crc32c.h"

namespace stallprof {
namespace {

// Read at once where no frame is longer: most segments of a short run are less than this.
constexpr std::size_t kChunk = 64u << 10;

}  // namespace

// At least `wanted` bytes from here on, fewer at the end of the segment.
std::span<const std::uint8_t> FrameScanner::ahead(std::size_t wanted) {
  if (end_ - begin_ < wanted && !ended_) {
    if (window_.size() < wanted) window_.resize(std::max(wanted, kChunk));
    std::memmove(window_.data(), window_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    const std::size_t got = read_(std::span(window_).subspan(end_));
    ended_ = got < window_.size() - end_;
    end_ += got;
    bytesRead_ += static_cast<std::int64_t>(got);
  }
  return {window_.data() + begin_, end_ - begin_};
}

std::optional<format::SegmentHeader> FrameScanner::segmentHeader() {
  const auto header = format::readSegmentHeader(ahead(sizeof(format::SegmentHeader)));
  if (header) consume(sizeof *header);
  return header;
}

std::optional<FrameScanner::Frame> FrameScanner::next(Skipped& skipped) {
  using format::FrameHeader;
  skipped = {};
  for (;;) {
    const auto header = format::readFrameHeader(ahead(sizeof(FrameHeader)));
    if (!header) {
      if (!skipToSync(skipped)) return std::nullopt;
      continue;
    }
    const std::size_t whole = sizeof *header + header->length;
    const auto bytes = ahead(whole);
    if (bytes.size() < whole) {
      skipped.torn = true;
      // The length may lie beyond a cut that others' frames follow: go on behind the header.
      consume(sizeof *header);
      skipped.bytes += static_cast<std::int64_t>(sizeof *header);
      continue;
    }
    const auto payload = bytes.subspan(sizeof *header, header->length);
    consume(whole);
    if (crc32c(payload.data(), payload.size()) == header->payloadCrc)
      return Frame{*header, payload};
    // The header's own checksum held, so its length is true: go on behind the damage.
    skipped.bytes += static_cast<std::int64_t>(whole);
  }
}

// Passes over at least one byte, up to the next place where a frame may begin.
bool FrameScanner::skipToSync(Skipped& skipped) {
  const auto sync = format::bytesOf(format::kSync);
  const auto bytes = ahead(kChunk);
  if (bytes.empty()) return false;
  const auto found =
      std::search(bytes.begin() + 1, bytes.end(), sync.begin(), sync.end(),
                  [](std::uint8_t a, char b) { return a == static_cast<std::uint8_t>(b); });
  std::size_t passed = static_cast<std::size_t>(found - bytes.begin());
  // A sync word may begin in the last three bytes of what is here.
  if (found == bytes.end() && bytes.size() >= kChunk) passed -= sync.size() - 1;
  if (found == bytes.end() && bytes.size() < kChunk) skipped.torn = true;
  consume(passed);
  skipped.bytes += static_cast<std::int64_t>(passed);
  return true;
}

}  // namespace stallprof
