// SPDX-License-Identifier: MIT
// A recording whose one segment is the input. Checksums are made right where a header could be
// one, when the first byte asks for it: else no mutation would get past them.
#include <stdlib.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "recording/format/crc32c.h"
#include "recording/format/format.h"
#include "recording/reader.h"

namespace {

using namespace stallprof;

struct Directory {
  Directory() {
    // In memory where there is one: the disk would be most of each execution.
    const std::filesystem::path memory = "/dev/shm";
    const bool there = std::filesystem::exists(memory);
    std::string pattern =
        (there ? memory : std::filesystem::temp_directory_path()) / "stallprof-fuzz-XXXXXX";
    path = ::mkdtemp(pattern.data());
    std::ofstream(path + "/manifest.json") << manifestToJson(Manifest());
  }
  ~Directory() { std::filesystem::remove_all(path); }
  std::string path;
};

void makeChecksumsRight(std::string& bytes) {
  using format::FrameHeader;
  const auto sync = format::bytesOf(format::kSync);
  format::SegmentHeader segment;
  if (bytes.size() >= sizeof segment) {
    std::memcpy(&segment, bytes.data(), sizeof segment);
    segment.crc = format::checksumOf(segment);
    std::memcpy(bytes.data(), &segment, sizeof segment);
  }
  for (std::size_t at = 0; (at = bytes.find(sync, at)) != std::string::npos;) {
    FrameHeader header;
    if (bytes.size() - at < sizeof header) return;
    std::memcpy(&header, bytes.data() + at, sizeof header);
    const std::size_t room = bytes.size() - at - sizeof header;
    if (header.length > room) header.length = static_cast<std::uint32_t>(room);
    header.payloadCrc = crc32c(bytes.data() + at + sizeof header, header.length);
    header.headerCrc = crc32c(&header, offsetof(FrameHeader, headerCrc));
    std::memcpy(bytes.data() + at, &header, sizeof header);
    at += sizeof header + header.length;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Directory directory;
  if (size == 0) return 0;
  std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] & 1) makeChecksumsRight(bytes);
  std::ofstream(directory.path + "/events-000001.seg", std::ios::binary | std::ios::trunc) << bytes;
  Strings strings;
  std::size_t events = 0;
  const auto summary = readRecording(directory.path, strings, [&](const Event&) { ++events; });
  // An event takes at least two bytes of input; a Loss stands for at least one.
  if (summary.ok() && events > 2 * size + 8) std::abort();
  return 0;
}
