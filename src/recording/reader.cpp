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
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "recording/format/format.h"
#include "recording/format/segment_decoder.h"

namespace stallprof {
namespace {

// The first writers kept commands whole: the kernel takes up to 6 MiB of them, of which an
// unprintable byte is five here.
constexpr std::size_t kManifestBytes = 32u << 20;

// Regular files only, no links: opening a recording must not open what somebody points it at.
Fd openRegular(int directory, const std::string& name) {
  return openRegularAt(directory, name.c_str(), O_NOFOLLOW);
}

// Up to the end of the file, or to an `error`.
std::size_t readSome(int file, std::span<std::uint8_t> into, int& error) {
  errno = 0;
  const std::size_t got = readNext(file, into.data(), into.size());
  if (got < into.size() && errno != 0) error = errno;
  return got;
}

Result<std::vector<std::uint32_t>> listSegments(int directory) {
  std::vector<std::uint32_t> numbers;
  Fd again = openAt(directory, ".", O_RDONLY | O_DIRECTORY);
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(
      again.valid() ? ::fdopendir(again.get()) : nullptr, ::closedir);
  if (listing == nullptr) return ioError("listing the recording", errno);
  (void)again.release();  // the listing owns it now
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(listing.get());
    if (entry == nullptr && errno != 0) return ioError("listing the recording", errno);
    if (entry == nullptr) break;
    const auto number = format::segmentNumber(entry->d_name);
    if (number && numbers.size() < format::kSegmentCount) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

// What is no regular file, or has gone since it was listed, is a hole in the recording; any other
// refusal is of this reader and says nothing of the recording.
bool isHole(int error) { return error == EINVAL || error == ENOENT; }

Result<Manifest> manifestIn(int directory) {
  const Fd file = openRegular(directory, format::kManifestFile);
  if (!file.valid())
    return Error{Error::Kind::kDamaged, std::string("not a stallprof recording: ") +
                                            format::kManifestFile + ": " + errnoText(errno)};
  struct stat status {};
  int error = ::fstat(file.get(), &status) == 0 ? 0 : errno;
  const auto bytes = static_cast<std::size_t>(std::max<off_t>(status.st_size, 0));
  std::string text(std::min(bytes, kManifestBytes), '\0');
  text.resize(
      readSome(file.get(), {reinterpret_cast<std::uint8_t*>(text.data()), text.size()}, error));
  if (error != 0) return ioError(format::kManifestFile, error);
  auto manifest = manifestFromJson(text);
  if (!manifest.ok()) return std::move(manifest).error().within(format::kManifestFile);
  return manifest;
}

}  // namespace

class RecordingReader::Frames {
 public:
  Frames(std::string directory, Strings& strings, std::function<void(const Event&)> take)
      : name_(std::move(directory)),
        strings_(strings),
        take_(std::move(take)),
        decoder_(strings, take_) {}

  Result<bool> next();
  [[nodiscard]] double progress() const {
    if (segments_.empty() || opened_ == 0) return 0;
    const double ofSegment = static_cast<double>(segmentRead_) / static_cast<double>(segmentBytes_);
    return (static_cast<double>(opened_ - 1) + std::min(ofSegment, 1.0)) /
           static_cast<double>(segments_.size());
  }
  [[nodiscard]] const ReadSummary& summary() const { return summary_; }

 private:
  [[nodiscard]] Error inRecording(Error error) const {
    return std::move(error).within("reading " + inQuotes(name_));
  }
  Status open();
  Status readManifestFile();
  Status openSegment(std::uint32_t number);
  Status readNext();
  void readFrame(const FrameScanner::Frame& frame);
  Result<bool> finish();
  void lose(LossKind kind, std::uint64_t count, std::string_view detail);

  std::string name_;
  Strings& strings_;
  const std::function<void(const Event&)> take_;
  Decoder decoder_;
  ReadSummary summary_;
  std::optional<Manifest> manifest_;  // from a frame, so with a checksum
  std::optional<Error> manifestError_;
  std::uint32_t expected_ = 1;  // the sequence of the next frame
  std::uint64_t stringsOver_ = 0;

  Fd directory_;
  std::vector<std::uint32_t> segments_;  // their numbers
  std::size_t opened_ = 0;               // of them
  Fd file_;
  std::size_t segmentBytes_ = 1, segmentRead_ = 0;
  int readError_ = 0;  // errno of the read that failed; what was read up to it stays unused
  const FrameScanner::Read read_ = [this](std::span<std::uint8_t> into) {
    const std::size_t got = readSome(file_.get(), into, readError_);
    segmentRead_ += got;
    return got;
  };
  std::optional<FrameScanner> scanner_;  // of the segment that is being read
};

Result<bool> RecordingReader::Frames::next() {
  if (!directory_.valid())
    if (auto status = open(); !status.ok()) return std::move(status).error();
  while (!scanner_) {
    if (opened_ == segments_.size()) return finish();
    if (auto status = openSegment(segments_[opened_++]); !status.ok())
      return inRecording(std::move(status).error());
  }
  if (auto status = readNext(); !status.ok()) return inRecording(std::move(status).error());
  return true;
}

Status RecordingReader::Frames::open() {
  directory_ = openAt(AT_FDCWD, name_.c_str(), O_RDONLY | O_DIRECTORY);
  if (!directory_.valid()) return ioError("opening the recording " + inQuotes(name_), errno);
  auto segments = listSegments(directory_.get());
  if (!segments.ok()) return inRecording(std::move(segments).error());
  segments_ = std::move(segments).value();
  if (auto manifest = readManifestFile(); !manifest.ok()) {
    // Segments carry the manifest too: without any, this is no recording.
    if (segments_.empty() || manifest.error().kind == Error::Kind::kUnsupported)
      return inRecording(std::move(manifest).error());
    manifestError_ = std::move(manifest).error();
  }
  return Done{};
}

Result<bool> RecordingReader::Frames::finish() {
  if (stringsOver_ > 0) lose(LossKind::kStringsFull, std::exchange(stringsOver_, 0), {});
  if (manifest_)
    summary_.manifest = *manifest_;
  else if (manifestError_)
    return inRecording(*manifestError_);
  return false;
}

Status RecordingReader::Frames::readManifestFile() {
  auto manifest = manifestIn(directory_.get());
  if (!manifest.ok()) return std::move(manifest).error();
  summary_.manifest = std::move(manifest).value();
  return Done{};
}

Status RecordingReader::Frames::openSegment(std::uint32_t number) {
  const std::uint32_t next = opened_ == 1 ? 1 : segments_[opened_ - 2] + 1;
  if (number > next)
    lose(LossKind::kSegmentMissing, number - next, format::segmentName(next) + " and on");
  const std::string name = format::segmentName(number);
  file_ = openRegular(directory_.get(), name);
  if (!file_.valid()) {
    if (!isHole(errno)) return ioError(name, errno);
    lose(LossKind::kSegmentMissing, 1, name + ": " + errnoText(errno));
    return Done{};
  }
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) return ioError(name, errno);
  segmentBytes_ = static_cast<std::size_t>(std::max<off_t>(status.st_size, 1));
  segmentRead_ = 0;
  decoder_.beginSegment(segmentBytes_);
  summary_.cleanEnd = false;
  scanner_.emplace(read_);
  const auto header = scanner_->segmentHeader();
  if (readError_ != 0) return ioError(name, readError_);
  if (header) {
    if (auto readable = format::checkVersion(header->version, header->oldestReader); !readable.ok())
      return std::move(readable).error().within(name);
  }
  return Done{};
}

Status RecordingReader::Frames::readNext() {
  FrameScanner::Skipped skipped;
  const auto frame = scanner_->next(skipped);
  if (readError_ != 0) return ioError(format::segmentName(segments_[opened_ - 1]), readError_);
  if (skipped.bytes > 0) {
    summary_.lostBytes += skipped.bytes;
    summary_.cleanEnd = false;
    const bool torn = !frame && skipped.torn;
    lose(torn ? LossKind::kFrameTorn : LossKind::kFrameDamaged,
         static_cast<std::uint64_t>(skipped.bytes), "bytes");
  }
  if (frame) {
    readFrame(*frame);
    return Done{};
  }
  scanner_.reset();
  return Done{};
}

void RecordingReader::Frames::readFrame(const FrameScanner::Frame& frame) {
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

void RecordingReader::Frames::lose(LossKind kind, std::uint64_t count, std::string_view detail) {
  take_(Event{decoder_.lastAt(), Loss{kind, count, strings_.intern(detail)}});
}

Result<Manifest> readManifest(const std::string& directory) {
  const Fd opened = openAt(AT_FDCWD, directory.c_str(), O_RDONLY | O_DIRECTORY);
  if (!opened.valid()) return ioError("opening the recording " + inQuotes(directory), errno);
  return manifestIn(opened.get());
}

RecordingReader::RecordingReader(std::string directory, Strings& strings,
                                 std::function<void(const Event&)> take)
    : frames_(std::make_unique<Frames>(std::move(directory), strings, std::move(take))) {}

RecordingReader::~RecordingReader() = default;

Result<bool> RecordingReader::next() { return frames_->next(); }

double RecordingReader::progress() const { return frames_->progress(); }

const ReadSummary& RecordingReader::summary() const { return frames_->summary(); }

Result<ReadSummary> readRecording(const std::string& directory, Strings& strings,
                                  const std::function<void(const Event&)>& take) {
  RecordingReader reader(directory, strings, take);
  for (;;) {
    const Result<bool> more = reader.next();
    if (!more.ok()) return more.error();
    if (!more.value()) return reader.summary();
  }
}

}  // namespace stallprof
