// SPDX-License-Identifier: MIT
#include "recording/reader.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>

#include "base/fd.h"
#include "base/text.h"
#include "recording/decode.h"
#include "recording/format.h"
#include "recording/frame_scanner.h"

namespace stallprof {
namespace {

constexpr std::size_t kManifestBytes = format::kFrameLimit;

// Regular files only, no links: opening a recording must not open what somebody points it at, nor
// wait for a pipe's other end.
Fd openRegular(int directory, const std::string& name) {
  Fd file = openAt(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0) return Fd();
  if (S_ISREG(status.st_mode)) return file;
  errno = EINVAL;
  return Fd();
}

std::size_t readSome(int file, std::span<std::uint8_t> into) {
  std::size_t got = 0;
  while (got < into.size()) {
    const ssize_t n = ::read(file, into.data() + got, into.size() - got);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  return got;
}

std::vector<std::uint32_t> listSegments(int directory) {
  std::vector<std::uint32_t> numbers;
  Fd again = openAt(directory, ".", O_RDONLY | O_DIRECTORY);
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(again.get()), ::closedir);
  if (listing == nullptr) return numbers;
  (void)again.release();  // the listing owns it now
  while (const dirent* entry = ::readdir(listing.get())) {
    const auto number = format::segmentNumber(entry->d_name);
    if (number && numbers.size() < format::kSegmentCount) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

Result<Manifest> manifestIn(int directory) {
  const Fd file = openRegular(directory, format::kManifestFile);
  if (!file.valid())
    return Error{Error::Kind::kDamaged, std::string("not a stallprof recording: ") +
                                            format::kManifestFile + ": " + errnoText(errno)};
  std::string json(kManifestBytes, '\0');
  json.resize(readSome(file.get(), {reinterpret_cast<std::uint8_t*>(json.data()), json.size()}));
  auto manifest = manifestFromJson(json);
  if (!manifest.ok()) return std::move(manifest).error().within(format::kManifestFile);
  return manifest;
}

class RecordingReader {
 public:
  RecordingReader(Fd directory, Strings& strings, const std::function<void(const Event&)>& take)
      : directory_(std::move(directory)), strings_(strings), take_(take), decoder_(strings, take) {}

  Result<ReadSummary> read();

 private:
  Status readManifestFile();
  Status readSegment(std::uint32_t number);
  Status readFrames(FrameScanner& scanner);
  void readFrame(const FrameScanner::Frame& frame);
  void checkSequence(std::uint32_t sequence);
  void lose(LossKind kind, std::uint64_t count, std::string_view detail);

  Fd directory_;
  Strings& strings_;
  const std::function<void(const Event&)>& take_;
  Decoder decoder_;
  ReadSummary summary_;
  std::optional<Manifest> manifest_;  // from a frame, so with a checksum
  std::optional<Error> manifestError_;
  std::uint32_t expected_ = 1;  // the sequence of the next frame
  std::uint64_t stringsOver_ = 0;
};

Result<ReadSummary> RecordingReader::read() {
  const auto segments = listSegments(directory_.get());
  if (auto manifest = readManifestFile(); !manifest.ok()) {
    // Segments carry the manifest too: without any, this is no recording.
    if (segments.empty() || manifest.error().kind == Error::Kind::kUnsupported)
      return std::move(manifest).error();
    manifestError_ = std::move(manifest).error();
  }
  std::uint32_t next = 1;
  for (const std::uint32_t number : segments) {
    if (number > next)
      lose(LossKind::kSegmentMissing, number - next, format::segmentName(next) + " and on");
    next = number + 1;
    if (auto status = readSegment(number); !status.ok()) return std::move(status).error();
  }
  if (stringsOver_ > 0) lose(LossKind::kStringsFull, stringsOver_, {});
  if (manifest_)
    summary_.manifest = std::move(*manifest_);
  else if (manifestError_)
    return std::move(*manifestError_);
  return std::move(summary_);
}

Status RecordingReader::readManifestFile() {
  auto manifest = manifestIn(directory_.get());
  if (!manifest.ok()) return std::move(manifest).error();
  summary_.manifest = std::move(manifest).value();
  return Done{};
}

Status RecordingReader::readSegment(std::uint32_t number) {
  const std::string name = format::segmentName(number);
  const Fd file = openRegular(directory_.get(), name);
  if (!file.valid()) {
    lose(LossKind::kSegmentMissing, 1, name + ": " + errnoText(errno));
    return Done{};
  }
  struct stat status {};
  ::fstat(file.get(), &status);
  decoder_.beginSegment(static_cast<std::size_t>(std::max<off_t>(status.st_size, 0)));
  summary_.cleanEnd = false;
  const FrameScanner::Read read = [&](std::span<std::uint8_t> into) {
    return readSome(file.get(), into);
  };
  FrameScanner scanner(read);
  if (const auto header = scanner.segmentHeader()) {
    if (auto readable = format::checkVersion(header->version, header->oldestReader); !readable.ok())
      return std::move(readable).error().within(name);
  }
  auto result = readFrames(scanner);
  summary_.bytes += scanner.bytesRead();
  return result;
}

Status RecordingReader::readFrames(FrameScanner& scanner) {
  for (;;) {
    FrameScanner::Skipped skipped;
    const auto frame = scanner.next(skipped);
    if (skipped.bytes > 0) {
      summary_.lostBytes += skipped.bytes;
      summary_.cleanEnd = false;
      const bool torn = !frame && skipped.torn;
      lose(torn ? LossKind::kFrameTorn : LossKind::kFrameDamaged,
           static_cast<std::uint64_t>(skipped.bytes), "bytes");
    }
    if (!frame) return Done{};
    readFrame(*frame);
  }
}

void RecordingReader::readFrame(const FrameScanner::Frame& frame) {
  // A frame seen before: copied or moved by somebody. Its events must not count twice.
  if (frame.header.sequence < expected_)
    return lose(LossKind::kFrameDamaged, 1, "frame out of order");
  if (frame.header.sequence > expected_)
    lose(LossKind::kFrameDamaged, frame.header.sequence - expected_, "frames missing");
  expected_ = frame.header.sequence + 1;
  summary_.cleanEnd = frame.header.type == format::FrameType::kEnd;
  if (frame.header.type == format::FrameType::kManifest && !manifest_) {
    auto manifest = manifestFromJson(
        {reinterpret_cast<const char*>(frame.payload.data()), frame.payload.size()});
    if (manifest.ok()) manifest_ = std::move(manifest).value();
  }
  if (frame.header.type != format::FrameType::kEvents) return;
  const Decoder::Lost lost = decoder_.frame(frame.payload);
  if (lost.unknownKinds > 0) lose(LossKind::kEventUnknown, lost.unknownKinds, "of a newer version");
  if (lost.damaged > 0) lose(LossKind::kFrameDamaged, lost.damaged, "records");
  stringsOver_ += lost.stringsOver;
}

void RecordingReader::lose(LossKind kind, std::uint64_t count, std::string_view detail) {
  take_(Event{decoder_.lastAt(), Loss{kind, count, strings_.intern(detail)}});
}

}  // namespace

Result<Manifest> readManifest(const std::string& directory) {
  const Fd opened = openAt(AT_FDCWD, directory.c_str(), O_RDONLY | O_DIRECTORY);
  if (!opened.valid()) return ioError("opening the recording " + inQuotes(directory), errno);
  return manifestIn(opened.get());
}

Result<ReadSummary> readRecording(const std::string& directory, Strings& strings,
                                  const std::function<void(const Event&)>& take) {
  const std::string shown = inQuotes(directory);
  Fd opened = openAt(AT_FDCWD, directory.c_str(), O_RDONLY | O_DIRECTORY);
  if (!opened.valid()) return ioError("opening the recording " + shown, errno);
  auto summary = RecordingReader(std::move(opened), strings, take).read();
  if (!summary.ok()) return std::move(summary).error().within("reading " + shown);
  return summary;
}

}  // namespace stallprof
