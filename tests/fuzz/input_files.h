// SPDX-License-Identifier: MIT
// Inputs that are files: a directory in memory for them, and checksums made right where a header
// could be one, without which no mutation would get past them.
#pragma once

#include <stdlib.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "recording/format/crc32c.h"
#include "recording/format/format.h"

namespace stallprof::testing {

// Of one recording, its segment to be written.
struct InputDirectory {
  InputDirectory() {
    // In memory where there is one: the disk would be most of each execution.
    const std::filesystem::path memory = "/dev/shm";
    const bool there = std::filesystem::exists(memory);
    std::string pattern =
        (there ? memory : std::filesystem::temp_directory_path()) / "stallprof-fuzz-XXXXXX";
    path = ::mkdtemp(pattern.data());
    // The least of one: its bytes are foreign to another target, `manifest`.
    std::ofstream(path + "/manifest.json")
        << R"({"format": ")" << format::kName << R"(", "version": 1, "oldest_reader": 1})";
  }
  ~InputDirectory() { std::filesystem::remove_all(path); }
  void write(const char* name, const std::string& bytes) const {
    std::ofstream(path + "/" + name, std::ios::binary | std::ios::trunc) << bytes;
  }
  std::string path;
};

inline void makeChecksumsRight(std::string& bytes) {
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

// The directory of a recording whose one segment the input stands for, the same at each call. The
// first byte, which there must be, says whether checksums are made right.
inline const std::string& recordingOf(const std::uint8_t* data, std::size_t size) {
  static const InputDirectory directory;
  std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] & 1) makeChecksumsRight(bytes);
  directory.write("events-000001.seg", bytes);
  return directory.path;
}

}  // namespace stallprof::testing
