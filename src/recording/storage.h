// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace stallprof {

// Why nothing more is written where the file system would take it, beside the values of errno.
inline constexpr int kLastOfDisk = -1;  // what is left of the file system is the job's
inline constexpr int kSizeLimit = -2;   // the recording is as large as it may be

// Blocks of a file system that are never taken: a twentieth, which the job's checkpoints may need
// more than we do; of a large one 2 GiB, tens of times what we take in an hour.
[[nodiscard]] std::uint64_t blocksLeftToTheJob(std::uint64_t blocks, std::uint64_t blockBytes);

// A sentence's worth for an errno or one of those.
[[nodiscard]] std::string troubleText(int error);
// There is no room now, though there may be later.
[[nodiscard]] bool isFull(int error);

// What the writer asks of a file system; tests replace it to fail the Nth call. Every call returns
// 0, an errno, or one of the values above. Files and directories belong to the user alone (0600,
// 0700) whatever the umask, where the file system keeps owners and modes.
class Storage {
 public:
  virtual ~Storage() = default;
  // Makes and opens `path`, which must not exist. Symbolic links are never followed.
  virtual int makeDirectory(const std::string& path, Fd& directory);
  virtual int makeFile(int directory, const std::string& name, Fd& file);
  virtual int remove(int directory, const std::string& name);
  // Removes what is in `directory`, and it too where it is still at `path`. Nothing is followed.
  virtual int removeDirectory(int directory, const std::string& path);
  // Writes all of `bytes` at `offset`; after an error any part may be there.
  virtual int write(int file, std::string_view bytes, std::uint64_t offset);
  // Makes sure that `size` bytes at `offset` can be written, without growing the file. 0 also where
  // the file system cannot promise that. kLastOfDisk where less than blocksLeftToTheJob() would
  // be free.
  virtual int reserve(int file, std::uint64_t offset, std::uint64_t size);
  virtual int truncate(int file, std::uint64_t size);
  virtual int sync(int file);
};

}  // namespace stallprof
