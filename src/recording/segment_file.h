// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "recording/format/format.h"
#include "recording/storage.h"

namespace stallprof {

// The segment files of one recording, as far as bytes go: frames are appended whole or not at all.
// Every call returns 0 or an errno.
class SegmentFiles {
 public:
  // `storage` must outlive this.
  SegmentFiles(Storage& storage, Fd directory)
      : storage_(storage), directory_(std::move(directory)) {}

  // Starts the next segment: its header and its copy of the manifest. After an error there is no
  // open segment, and the number is tried again.
  int open(std::string_view manifest);
  // Space for the frame and for the last words after it is asked for first.
  int append(format::FrameType type, std::string_view payload);
  // As `append`, into the space kept for it: the last words when the disk is full.
  int appendReserved(format::FrameType type, std::string_view payload);
  // Releases what was kept and closes the segment.
  void close();

  [[nodiscard]] bool isOpen() const { return file_ != nullptr; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::int64_t bytesWritten() const { return bytesWritten_; }
  // For the thread that syncs: the file stays open while it holds this.
  [[nodiscard]] std::shared_ptr<const Fd> file() const { return file_; }

 private:
  Storage& storage_;
  Fd directory_;
  std::shared_ptr<const Fd> file_;
  std::uint32_t number_ = 0, sequence_ = 0;
  std::uint64_t size_ = 0;
  std::int64_t bytesWritten_ = 0;
  std::string scratch_;  // one frame, so that it goes out in one call
};

}  // namespace stallprof
