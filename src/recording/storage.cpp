// SPDX-License-Identifier: MIT
#include "recording/storage.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/text.h"

namespace stallprof {
namespace {

// Mounts that keep no modes or owners (vfat, CIFS), and servers that squash root, refuse to change
// them: who may read there is theirs to say.
bool keepsNoModes(int error) { return error == EPERM || error == EACCES || error == EOPNOTSUPP; }

// Whether what we make in `directory` gets the directory's owner, who is not us: the file system
// gives owners as it likes. In a directory that somebody put in the place of ours, files would be
// ours.
bool ownersAreMapped(int directory, uid_t owner) {
  constexpr char kTrial[] = ".owner";
  const Fd file = openAt(directory, kTrial, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!file.valid()) return false;
  struct stat status {};
  const bool mapped = ::fstat(file.get(), &status) == 0 && status.st_uid == owner;
  ::unlinkat(directory, kTrial, 0);
  return mapped;
}

// Whether `size` bytes more would take of what is left to the job. Blocks that only root may use
// are not free.
bool takesTheLast(int file, std::uint64_t size) {
  struct statvfs disk {};
  if (::fstatvfs(file, &disk) != 0 || disk.f_blocks == 0) return false;
  const auto block = static_cast<std::uint64_t>(disk.f_frsize);
  return disk.f_bavail <= blocksLeftToTheJob(disk.f_blocks, block) + size / block;
}

}  // namespace

std::uint64_t blocksLeftToTheJob(std::uint64_t blocks, std::uint64_t blockBytes) {
  constexpr std::uint64_t kPart = 20, kMax = 2ULL << 30;
  return std::min(blocks / kPart, kMax / std::max<std::uint64_t>(1, blockBytes));
}

std::string troubleText(int error) {
  if (error == kLastOfDisk)
    return "less than 5 % of the file system, or 2 GiB, is free, which the job may need";
  if (error == kSizeLimit) return "the recording has reached --max-size";
  return errnoText(error);
}

bool isFull(int error) {
  return error == ENOSPC || error == EDQUOT || error == kLastOfDisk || error == kSizeLimit;
}

int Storage::makeDirectory(const std::string& path, Fd& directory) {
  if (::mkdir(path.c_str(), 0700) != 0) return errno;
  // O_PATH needs no permission on the directory itself, which a umask of 0777 took away.
  const Fd made = openAt(AT_FDCWD, path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW);
  if (!made.valid()) return errno;
  struct stat status {};
  if (::fstat(made.get(), &status) != 0) return errno;
  if (status.st_uid != ::geteuid() && !ownersAreMapped(made.get(), status.st_uid)) return EPERM;
  const std::string itself = "/proc/self/fd/" + std::to_string(made.get());
  if ((status.st_mode & 0777) != 0700 && ::chmod(itself.c_str(), 0700) != 0 && !keepsNoModes(errno))
    return errno;
  directory = openAt(made.get(), ".", O_RDONLY | O_DIRECTORY);
  return directory.valid() ? 0 : errno;
}

int Storage::makeFile(int directory, const std::string& name, Fd& file) {
  file = openAt(directory, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!file.valid()) return errno;
  return ::fchmod(file.get(), 0600) == 0 || keepsNoModes(errno) ? 0 : errno;
}

int Storage::remove(int directory, const std::string& name) {
  return ::unlinkat(directory, name.c_str(), 0) == 0 ? 0 : errno;
}

int Storage::removeDirectory(int directory, const std::string& path) {
  Fd again = openAt(directory, ".", O_RDONLY | O_DIRECTORY);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(again.get()), &::closedir);
  if (entries == nullptr) return errno;
  (void)again.release();
  while (const dirent* entry = ::readdir(entries.get())) ::unlinkat(directory, entry->d_name, 0);
  struct stat ours {
  }, there{};
  if (::fstat(directory, &ours) != 0 || ::lstat(path.c_str(), &there) != 0) return errno;
  if (ours.st_dev != there.st_dev || ours.st_ino != there.st_ino) return ENOENT;
  return ::rmdir(path.c_str()) == 0 ? 0 : errno;
}

int Storage::write(int file, std::string_view bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) return ENOSPC;
    bytes.remove_prefix(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return 0;
}

int Storage::reserve(int file, std::uint64_t offset, std::uint64_t size) {
  if (takesTheLast(file, size)) return kLastOfDisk;
  if (::fallocate(file, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                  static_cast<off_t>(size)) == 0)
    return 0;
  return errno == ENOSPC || errno == EDQUOT ? errno : 0;
}

int Storage::truncate(int file, std::uint64_t size) {
  return ::ftruncate(file, static_cast<off_t>(size)) == 0 ? 0 : errno;
}

int Storage::sync(int file) { return ::fdatasync(file) == 0 ? 0 : errno; }

}  // namespace stallprof
