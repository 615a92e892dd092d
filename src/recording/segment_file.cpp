// SPDX-License-Identifier: MIT
#include "recording/segment_file.h"

#include <algorithm>
#include <cerrno>

namespace stallprof {
namespace {

// Kept free behind the last frame for the last words of a full disk: two frames of under 200 bytes
// and, on a file system with blocks of 4 KiB, the blocks they may straddle.
constexpr std::uint64_t kReserve = 12u << 10;

}  // namespace

int SegmentFiles::open(std::string_view manifest) {
  close();
  const std::string name = format::segmentName(number_ + 1);
  Fd file;
  int error = storage_.makeFile(directory_.get(), name, file);
  if (error == EEXIST) ++number_;  // left by an attempt that could not be undone: skipped
  if (error != 0) return error;
  file_ = std::make_shared<const Fd>(std::move(file));
  const format::SegmentHeader header = format::segmentHeader(number_ + 1);
  error = storage_.write(file_->get(), format::bytesOf(header), 0);
  size_ = reserved_ = sizeof header;
  if (error == 0) error = append(format::FrameType::kManifest, manifest);
  if (error != 0) {
    close();
    storage_.remove(directory_.get(), name);
    return error;
  }
  ++number_;
  bytesWritten_ += static_cast<std::int64_t>(sizeof header);
  return 0;
}

int SegmentFiles::append(format::FrameType type, std::string_view payload) {
  if (!isOpen()) return EBADF;
  const std::uint64_t bytes = sizeof(format::FrameHeader) + payload.size();
  if (!fits(bytes)) return kSizeLimit;
  if (const int error = reserve(bytes + kReserve); error != 0) return error;
  return appendReserved(type, payload);
}

// To ask is a round trip to the server of a network file system, which the caller waits for; where
// the disk has no room for more than this frame, each frame asks.
int SegmentFiles::reserve(std::uint64_t bytes) {
  if (size_ + bytes <= reserved_) return 0;
  const std::uint64_t written = static_cast<std::uint64_t>(bytesWritten_);
  const std::uint64_t ahead = std::min(ahead_, maxBytes_ - written - bytes);  // fits() said so
  int error = 0;
  if (ahead > 0) {
    error = storage_.reserve(file_->get(), size_, bytes + ahead);
    if (error == 0) reserved_ = size_ + bytes + ahead;
    if (error == 0) return 0;
    storage_.truncate(file_->get(), size_);  // what it took before it failed is the job's
    reserved_ = size_;
  }
  error = storage_.reserve(file_->get(), size_, bytes);
  if (error == 0) reserved_ = size_ + bytes;
  return error;
}

// With what the last words may take.
bool SegmentFiles::fits(std::uint64_t bytes) const {
  const std::uint64_t taken = static_cast<std::uint64_t>(bytesWritten_) + bytes + kReserve;
  return taken <= maxBytes_;
}

bool SegmentFiles::mayOpen(std::string_view manifest, std::uint64_t bytes) const {
  return fits(sizeof(format::SegmentHeader) + sizeof(format::FrameHeader) + manifest.size() +
              bytes);
}

int SegmentFiles::appendReserved(format::FrameType type, std::string_view payload) {
  if (!isOpen()) return EBADF;
  const format::FrameHeader header = format::frameHeader(type, sequence_ + 1, payload);
  scratch_.assign(format::bytesOf(header));
  scratch_.append(payload);
  if (const int error = storage_.write(file_->get(), scratch_, size_); error != 0) {
    storage_.truncate(file_->get(), size_);  // a torn frame that stays is overwritten or skipped
    reserved_ = size_;
    return error;
  }
  ++sequence_;
  size_ += scratch_.size();
  bytesWritten_ += static_cast<std::int64_t>(scratch_.size());
  return 0;
}

void SegmentFiles::close() {
  if (isOpen()) storage_.truncate(file_->get(), size_);
  file_.reset();
  size_ = reserved_ = 0;
}

}  // namespace stallprof
