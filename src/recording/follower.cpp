// SPDX-License-Identifier: MIT
#include "recording/follower.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"
#include "recording/format/format.h"

namespace stallprof {
namespace {

// A segment grows while it is read; the writer begins another at 64 MiB.
constexpr std::size_t kLargestSegment = 64u << 20;

}  // namespace

Result<RecordingFollower> RecordingFollower::open(const std::string& directory, Strings& strings,
                                                  const std::function<void(const Event&)>& take) {
  Fd opened = openAt(AT_FDCWD, directory.c_str(), O_RDONLY | O_DIRECTORY);
  if (!opened.valid())
    return ioError("opening the recording '" + escapeTerminal(directory) + "'", errno);
  return RecordingFollower(std::move(opened), strings, take);
}

Status RecordingFollower::advance() {
  for (;;) {
    if (!file_.valid() && !openSegment(number_)) return Done{};
    // Asked first: once there is a next segment, nothing is added to this one.
    struct stat next {};
    const bool last =
        ::fstatat(directory_.get(), format::segmentName(number_ + 1).c_str(), &next, 0) != 0;
    if (const Status read = readOn(); !read.ok()) return read;
    if (last) return Done{};
    file_.reset();
    ++number_;
  }
}

// Regular files only, no links, as readRecording.
bool RecordingFollower::openSegment(std::uint32_t number) {
  Fd file = openAt(directory_.get(), format::segmentName(number).c_str(),
                   O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  file_ = std::move(file);
  offset_ = 0;
  decoder_.beginSegment(kLargestSegment);
  return true;
}

Status RecordingFollower::readOn() {
  std::int64_t at = offset_;
  const FrameScanner::Read read = [&](std::span<std::uint8_t> into) {
    const std::size_t got =
        readAt(file_.get(), into.data(), into.size(), static_cast<std::uint64_t>(at));
    at += static_cast<std::int64_t>(got);
    return got;
  };
  FrameScanner scanner(read);
  if (offset_ == 0) {
    const auto header = scanner.segmentHeader();
    if (!header) return Done{};  // not written yet
    if (Status known = format::checkVersion(header->version, header->oldestReader); !known.ok())
      return known;
    offset_ = static_cast<std::int64_t>(sizeof *header);
    bytes_ += offset_;
  }
  FrameScanner::Skipped skipped;
  while (const auto frame = scanner.next(skipped)) {
    const std::int64_t whole =
        skipped.bytes + static_cast<std::int64_t>(sizeof frame->header + frame->payload.size());
    offset_ += whole;
    bytes_ += whole;
    take(*frame);
  }
  return Done{};
}

void RecordingFollower::take(const FrameScanner::Frame& frame) {
  if (frame.header.sequence < expected_) return;  // a copy
  expected_ = frame.header.sequence + 1;
  ended_ = frame.header.type == format::FrameType::kEnd;
  if (frame.header.type == format::FrameType::kEvents) (void)decoder_.frame(frame.payload);
  if (frame.header.type != format::FrameType::kManifest || manifest_) return;
  auto manifest =
      manifestFromJson({reinterpret_cast<const char*>(frame.payload.data()), frame.payload.size()});
  if (manifest.ok()) manifest_ = std::move(manifest).value();
}

}  // namespace stallprof
