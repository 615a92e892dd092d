// SPDX-License-Identifier: MIT
#include "recording/format/format.h"

#include <charconv>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "recording/format/crc32c.h"

namespace stallprof::format {
namespace {

constexpr std::string_view kPrefix = "events-", kSuffix = ".seg";

template <class Header>
std::optional<Header> readHeader(std::span<const std::uint8_t> bytes,
                                 std::uint32_t Header::*checksum) {
  Header header;
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.*checksum != crc32c(&header, sizeof header - 4)) return std::nullopt;
  return header;
}

}  // namespace

std::string segmentName(std::uint32_t number) {
  char name[32];
  std::snprintf(name, sizeof name, "events-%06u.seg", number);
  return name;
}

std::optional<std::uint32_t> segmentNumber(std::string_view fileName) {
  if (!fileName.starts_with(kPrefix) || !fileName.ends_with(kSuffix)) return std::nullopt;
  fileName.remove_prefix(kPrefix.size());
  fileName.remove_suffix(kSuffix.size());
  std::uint32_t number = 0;
  const char* end = fileName.data() + fileName.size();
  const auto parsed = std::from_chars(fileName.data(), end, number);
  if (fileName.size() < 6 || parsed.ec != std::errc() || parsed.ptr != end || number == 0)
    return std::nullopt;
  return number;
}

std::uint32_t checksumOf(const SegmentHeader& header) {
  return crc32c(&header, offsetof(SegmentHeader, crc));
}

SegmentHeader segmentHeader(std::uint32_t number) {
  SegmentHeader header;
  header.number = number;
  header.crc = checksumOf(header);
  return header;
}

FrameHeader frameHeader(FrameType type, std::uint32_t sequence, std::string_view payload) {
  FrameHeader header;
  header.length = static_cast<std::uint32_t>(payload.size());
  header.sequence = sequence;
  header.type = type;
  header.payloadCrc = crc32c(payload.data(), payload.size());
  header.headerCrc = crc32c(&header, offsetof(FrameHeader, headerCrc));
  return header;
}

std::optional<SegmentHeader> readSegmentHeader(std::span<const std::uint8_t> bytes) {
  const auto header = readHeader(bytes, &SegmentHeader::crc);
  if (!header || header->magic != kSegmentMagic) return std::nullopt;
  return header;
}

std::optional<FrameHeader> readFrameHeader(std::span<const std::uint8_t> bytes) {
  const auto header = readHeader(bytes, &FrameHeader::headerCrc);
  if (!header || header->sync != kSync || header->length > kFrameLimit) return std::nullopt;
  return header;
}

Status checkVersion(std::uint32_t version, std::uint32_t oldestReader) {
  const std::string theirs = "recording format " + std::to_string(version);
  if (oldestReader > kVersion)
    return Error{Error::Kind::kUnsupported,
                 theirs + " needs a stallprof that reads format " + std::to_string(oldestReader) +
                     " or newer; this one reads up to " + std::to_string(kVersion)};
  if (version < kOldestReadable || version < oldestReader)
    return Error{Error::Kind::kUnsupported,
                 theirs + " is older than " + std::to_string(kOldestReadable) +
                     ", the oldest this stallprof reads: use the one that recorded it"};
  return Done{};
}

}  // namespace stallprof::format
