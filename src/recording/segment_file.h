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
// Every call returns 0 or what storage.h names.
class SegmentFiles {
 public:
  // `storage` must outlive this. All segments together stay within `maxBytes`; space is asked for
  // `ahead` bytes ahead.
  SegmentFiles(Storage& storage, Fd directory, std::uint64_t maxBytes, std::uint64_t ahead)
      : storage_(storage), directory_(std::move(directory)), maxBytes_(maxBytes), ahead_(ahead) {}

  // Starts the next segment: its header and its copy of the manifest. After an error there is no
  // open segment, and the number is tried again.
  int open(std::string_view manifest);
  // Into space for the frame and for the last words after it, which is asked for where there is
  // none.
  int append(format::FrameType type, std::string_view payload);
  // As `append`, into the space kept for it: the last words when the disk is full.
  int appendReserved(format::FrameType type, std::string_view payload);
  // Releases what was kept and closes the segment.
  void close();

  // Whether another segment may begin and hold `bytes` beside the manifest.
  [[nodiscard]] bool mayOpen(std::string_view manifest, std::uint64_t bytes) const;
  // Removes everything there, and the directory where it is still at `path`.
  void removeAll(const std::string& path) {
    file_.reset();
    storage_.removeDirectory(directory_.get(), path);
  }
  [[nodiscard]] int directory() const { return directory_.get(); }
  [[nodiscard]] bool isOpen() const { return file_ != nullptr; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::int64_t bytesWritten() const { return bytesWritten_; }
  // For the thread that syncs: the file stays open while it holds this.
  [[nodiscard]] std::shared_ptr<const Fd> file() const { return file_; }

 private:
  [[nodiscard]] bool fits(std::uint64_t bytes) const;
  int reserve(std::uint64_t bytes);

  Storage& storage_;
  Fd directory_;
  const std::uint64_t maxBytes_, ahead_;
  std::shared_ptr<const Fd> file_;
  std::uint32_t number_ = 0, sequence_ = 0;
  std::uint64_t size_ = 0, reserved_ = 0;  // of the open file; up to where space was asked for
  std::int64_t bytesWritten_ = 0;
  std::string scratch_;  // one frame, so that it goes out in one call
};

}  // namespace stallprof
