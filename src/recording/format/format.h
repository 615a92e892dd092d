// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

// Sizes and layouts of a recording's bytes. FORMAT.md is the definition; a change here changes it,
// the version, and adds a recording to tests/recordings.
namespace stallprof::format {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

inline constexpr std::uint32_t kVersion = 1;         // what this program writes
inline constexpr std::uint32_t kOldestReader = 1;    // the oldest reader that reads what we write
inline constexpr std::uint32_t kOldestReadable = 1;  // the oldest version this program reads
inline constexpr std::string_view kName = "stallprof.recording";
inline constexpr const char* kManifestFile = "manifest.json";

inline constexpr std::array<char, 8> kSegmentMagic = {'S', 'T', 'P', 'R', 'O', 'F', '\r', '\n'};
inline constexpr std::uint32_t kSync = 0xF5A55AF6u;  // not text, and no byte order mark

struct SegmentHeader {
  std::array<char, 8> magic = kSegmentMagic;
  std::uint32_t version = kVersion;
  std::uint32_t oldestReader = kOldestReader;
  std::uint32_t number = 0;    // as in the file's name, from 1
  std::uint32_t reserved = 0;  // 0
  std::uint32_t reserved2 = 0;
  std::uint32_t crc = 0;  // of the bytes before it
};
static_assert(sizeof(SegmentHeader) == 32);

enum class FrameType : std::uint32_t { kManifest = 1, kEvents = 2, kEnd = 3 };

struct FrameHeader {
  std::uint32_t sync = kSync;
  std::uint32_t length = 0;    // of the payload that follows
  std::uint32_t sequence = 0;  // from 1, over all segments of the recording
  FrameType type = FrameType::kEvents;
  std::uint32_t payloadCrc = 0;
  std::uint32_t headerCrc = 0;  // of the bytes before it: a length is believed only with this
};
static_assert(sizeof(FrameHeader) == 24);

// The first byte of a record that defines a string; every other first byte is an event's kind.
inline constexpr std::uint8_t kStringRecord = 0;

// Limits on what a file may ask of its reader, and so on what a writer may write.
inline constexpr std::size_t kFrameLimit = 1u << 20;       // payload
inline constexpr std::size_t kStringLimit = 64u << 10;     // longer texts are cut by the writer
inline constexpr std::uint32_t kIdentityLimit = 1u << 22;  // process, thread and stack ids
inline constexpr std::size_t kSegmentCount = 1u << 20;

[[nodiscard]] std::string segmentName(std::uint32_t number);
[[nodiscard]] std::optional<std::uint32_t> segmentNumber(std::string_view fileName);

[[nodiscard]] std::uint32_t checksumOf(const SegmentHeader& header);
[[nodiscard]] SegmentHeader segmentHeader(std::uint32_t number);
[[nodiscard]] FrameHeader frameHeader(FrameType type, std::uint32_t sequence,
                                      std::string_view payload);

// The header at `bytes`, when it is whole and its checksum holds.
[[nodiscard]] std::optional<SegmentHeader> readSegmentHeader(std::span<const std::uint8_t> bytes);
[[nodiscard]] std::optional<FrameHeader> readFrameHeader(std::span<const std::uint8_t> bytes);

// Whether this program may read what says of itself `version` and `oldestReader`; the error is one
// clear line with the file's version, ours, and what can read it.
[[nodiscard]] Status checkVersion(std::uint32_t version, std::uint32_t oldestReader);

template <class Header>
[[nodiscard]] std::string_view bytesOf(const Header& header) {
  return {reinterpret_cast<const char*>(&header), sizeof header};
}

}  // namespace stallprof::format
