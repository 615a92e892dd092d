// SPDX-License-Identifier: MIT
#include "recording/format/segment_decoder.h"

#include <algorithm>

#include "tests/catch.h"

namespace stallprof {
namespace {

// Frames of these sizes, as a scanner finds them: their payloads' sizes, and the most that it asked
// for at once.
struct Scanned {
  std::vector<std::size_t> found;
  std::int64_t skipped = 0;
  std::size_t asked = 0;
};

Scanned scan(const std::vector<std::size_t>& sizes, const std::string& between) {
  std::string bytes;
  for (const std::size_t size : sizes) {
    const std::string payload(size, static_cast<char>('a' + size % 7));
    bytes.append(format::bytesOf(format::frameHeader(format::FrameType::kEvents, 1, payload)));
    bytes.append(payload).append(between);
  }
  Scanned scanned;
  std::size_t at = 0;
  const FrameScanner::Read read = [&](std::span<std::uint8_t> into) {
    scanned.asked = std::max(scanned.asked, into.size());
    const std::size_t some = std::min(into.size(), bytes.size() - at);
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), some, into.begin());
    at += some;
    return some;
  };
  FrameScanner scanner(read);
  FrameScanner::Skipped skipped;
  while (const auto frame = scanner.next(skipped)) {
    scanned.found.push_back(frame->payload.size());
    scanned.skipped += skipped.bytes;
  }
  CHECK(at == bytes.size());
  return scanned;
}

TEST_CASE("frames of any size are found, whole or behind junk") {
  const std::vector<std::size_t> sizes = {0,     10, 70'000,  65'512,  65'513, format::kFrameLimit,
                                          1'000, 3,  500'000, 131'072, 65'536};
  CHECK(scan(sizes, "").found == sizes);
  for (const std::size_t junk : {1, 3, 65'533, 65'536, 200'000}) {
    const Scanned scanned = scan(sizes, std::string(junk, '\xF6'));
    CHECK(scanned.found == sizes);
    CHECK(scanned.skipped == static_cast<std::int64_t>(junk * (sizes.size() - 1)));
  }
}

TEST_CASE("a segment of small frames is not read into a window for the largest") {
  CHECK(scan(std::vector<std::size_t>(500, 900), "").asked <= 64u << 10);
}

}  // namespace
}  // namespace stallprof
