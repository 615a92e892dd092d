// SPDX-License-Identifier: MIT
#include "base/fd.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/text.h"

namespace stallprof {

void Fd::reset(int fd) {
  if (fd_ >= 0) ::close(fd_);  // never retried: on Linux the descriptor is gone even after EINTR
  fd_ = fd;
}

Fd openAt(int dir, const char* path, int flags, unsigned mode) {
  int fd = -1;
  do fd = ::openat(dir, path, flags | O_CLOEXEC, mode);
  while (fd < 0 && errno == EINTR);
  return Fd(fd);
}

Fd openRegularAt(int dir, const char* path, int flags) {
  const Fd place = openAt(dir, path, O_PATH | flags);
  struct stat status {
  }, opened{};
  if (!place.valid() || ::fstat(place.get(), &status) != 0) return Fd();
  errno = EINVAL;
  if (!S_ISREG(status.st_mode)) return Fd();
  const std::string itself = "/proc/self/fd/" + std::to_string(place.get());
  Fd file = openAt(AT_FDCWD, itself.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (file.valid() || errno != ENOENT) return file;
  file = openAt(dir, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | flags);  // no /proc here
  if (!file.valid() || ::fstat(file.get(), &opened) != 0) return Fd();
  errno = EINVAL;
  return opened.st_dev == status.st_dev && opened.st_ino == status.st_ino ? std::move(file) : Fd();
}

bool writeAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

namespace {

// `read(to, bytes, have)` as read(2), until `bytes` are there or it ends.
template <class Read>
std::size_t readWhole(void* into, std::size_t bytes, Read read) {
  std::size_t have = 0;
  while (have < bytes) {
    const ssize_t n = read(static_cast<char*>(into) + have, bytes - have, have);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    have += static_cast<std::size_t>(n);
  }
  return have;
}

}  // namespace

std::size_t readAt(int fd, void* into, std::size_t bytes, std::uint64_t offset) {
  return readWhole(into, bytes, [&](char* to, std::size_t left, std::size_t have) {
    return ::pread(fd, to, left, static_cast<off_t>(offset + have));
  });
}

std::size_t readNext(int fd, void* into, std::size_t bytes) {
  return readWhole(into, bytes,
                   [&](char* to, std::size_t left, std::size_t) { return ::read(fd, to, left); });
}

std::string_view preadSmall(int fd, std::span<char> buffer) {
  ssize_t n = -1;
  do n = ::pread(fd, buffer.data(), buffer.size(), 0);
  while (n < 0 && errno == EINTR);
  return n > 0 ? std::string_view(buffer.data(), static_cast<std::size_t>(n)) : std::string_view();
}

namespace {

Result<std::string> readOpened(const Fd& file, const std::string& path, std::size_t limit) {
  if (!file.valid()) return ioError("opening " + inQuotes(path), errno);
  std::string text;
  char chunk[16384];
  for (;;) {
    const ssize_t n = ::read(file.get(), chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ioError("reading " + inQuotes(path), errno);
    if (n == 0) return text;
    if (text.size() + static_cast<std::size_t>(n) > limit)
      return Error{Error::Kind::kDamaged, inQuotes(path) + " is larger than expected"};
    text.append(chunk, static_cast<std::size_t>(n));
  }
}

}  // namespace

Result<std::string> readFile(const std::string& path, std::size_t limit) {
  return readOpened(openAt(AT_FDCWD, path.c_str(), O_RDONLY), path, limit);
}

Result<std::string> readRegularFile(const std::string& path, std::size_t limit) {
  return readOpened(openRegularAt(AT_FDCWD, path.c_str(), O_NOFOLLOW), path, limit);
}

std::string errnoText(int error) { return std::generic_category().message(error); }

Error ioError(const std::string& what, int error) {
  return Error{Error::Kind::kIo, what + ": " + errnoText(error)};
}

}  // namespace stallprof
