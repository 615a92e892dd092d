// SPDX-License-Identifier: MIT
#include "recording/format/segment_decoder.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "event/event.h"
#include "recording/format/byte_io.h"
#include "recording/format/crc32c.h"
#include "recording/format/format.h"

namespace stallprof {
namespace {

// Read at once where no frame is longer: most segments of a short run are less than this.
constexpr std::size_t kChunk = 64u << 10;

// Interned text one recording may make its reader hold; the writer's own budget is half of it.
// kStringCost: what a table entry costs beside its bytes (string object, map node, bucket).
constexpr std::size_t kStringBudget = 64u << 20, kStringCost = 112;
constexpr std::string_view kOther = "(other)", kLost = "(lost)";

struct FieldReader {
  ByteReader& in;
  std::span<const StringId> local;
  Strings& strings;

  // No bytes left: an older writer did not know this field, its default stays.
  template <class T>
  void operator()(const char*, T& field) const {
    if (!in.empty()) read(field);
  }

 private:
  void read(StringId& field) const {
    const std::uint64_t number = in.varint();
    if (number != 0) field = number <= local.size() ? local[number - 1] : strings.intern(kLost);
  }
  template <class Tag>
  void read(Id<Tag>& field) const {
    const std::uint64_t id = in.varint();
    field.value = static_cast<std::uint32_t>(std::min<std::uint64_t>(id, format::kIdentityLimit));
  }
  void read(Nanos& field) const { field = Nanos(unzigzag(in.varint())); }
  void read(bool& field) const { field = in.varint() != 0; }
  template <class T>
  requires std::is_integral_v<T>
  void read(T& field) const {  // saturates: a value too large for its field is damage, not a wrap
    using Limits = std::numeric_limits<T>;
    if constexpr (std::is_signed_v<T>) {
      const std::int64_t value = unzigzag(in.varint());
      field = value < Limits::min()   ? Limits::min()
              : value > Limits::max() ? Limits::max()
                                      : static_cast<T>(value);
    } else {
      const std::uint64_t value = in.varint();
      field = value > Limits::max() ? Limits::max() : static_cast<T>(value);
    }
  }
  template <class T>
  requires std::is_enum_v<T>
  void read(T& field) const {  // a value this version does not know leaves the default
    const std::uint64_t value = in.varint();
    if (value < knownValues(field)) field = static_cast<T>(value);
  }
};

using DecodeFields = void (*)(const FieldReader&, Payload&);

struct MakeDecode {
  template <class P>
  constexpr DecodeFields operator()() const {
    return [](const FieldReader& reader, Payload& payload) {
      P::fields(payload.emplace<P>(), reader);
    };
  }
};
constexpr auto kDecode = tableByKind<DecodeFields>(MakeDecode{});

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

void Decoder::beginSegment(std::size_t bytes) {
  local_.clear();
  localLimit_ = bytes / 3;  // a string record takes at least three bytes
}

bool Decoder::define(std::span<const std::uint8_t> body, Lost& lost) {
  ByteReader in(body);
  const std::uint64_t local = in.varint();
  if (in.bad() || local == 0 || local > localLimit_ || in.left() > format::kStringLimit)
    return false;
  const auto bytes = in.bytes(in.left());
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (strings_.bytes() + strings_.size() * kStringCost > kStringBudget) {
    text = kOther;
    ++lost.stringsOver;
  }
  // Numbers skipped here were defined in frames that are lost.
  if (local > local_.size()) local_.resize(local, strings_.intern(kLost));
  local_[local - 1] = strings_.intern(text);
  return true;
}

Decoder::Lost Decoder::frame(std::span<const std::uint8_t> payload) {
  Lost lost;
  ByteReader in(payload);
  std::uint64_t at = 0;
  while (!in.empty()) {
    const std::uint8_t kind = in.bytes(1)[0];
    const std::uint64_t length = in.varint();
    const auto body = in.bytes(length);
    if (in.bad()) {  // the shape of the frame is lost with this record's length
      ++lost.damaged;
      break;
    }
    if (kind == format::kStringRecord) {
      if (!define(body, lost)) ++lost.damaged;
      continue;
    }
    ByteReader fields(body);
    at += static_cast<std::uint64_t>(unzigzag(fields.varint()));
    event_.at = Nanos(static_cast<std::int64_t>(at));
    if (const DecodeFields decode = kDecode[kind]; decode == nullptr) {
      ++lost.unknownKinds;
    } else {
      decode(FieldReader{fields, local_, strings_}, event_.payload);
      if (fields.bad())
        ++lost.damaged;
      else
        take_(event_);
    }
  }
  return lost;
}

}  // namespace stallprof
