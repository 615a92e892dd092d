// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace stallprof {

// Owns one descriptor; closes it once. Movable, never copied.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~Fd() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

// Opens with O_CLOEXEC added; an invalid Fd carries its reason in errno.
[[nodiscard]] Fd openAt(int dir, const char* path, int flags, unsigned mode = 0);

// Opens a regular file to read it. What else is there (a device, a pipe: to open one may act, or
// wait) is not opened: EINVAL. `flags`: O_NOFOLLOW.
[[nodiscard]] Fd openRegularAt(int dir, const char* path, int flags = 0);

// Writes all of `bytes`, retrying EINTR and short writes. False leaves errno set.
[[nodiscard]] bool writeAll(int fd, std::string_view bytes);

// Reads from `offset` on until `into` is full or the file ends, retrying EINTR and short reads: how
// many bytes it has. Of an error, what came before it (errno set).
[[nodiscard]] std::size_t readAt(int fd, void* into, std::size_t bytes, std::uint64_t offset);
// The same from where the descriptor is, which it moves.
[[nodiscard]] std::size_t readNext(int fd, void* into, std::size_t bytes);

// Reads a small file of unknown length (procfs, sysfs) into `buffer` from offset 0 and returns the
// part filled; empty on any error (errno set). One pread per call: a kept-open fd costs one
// syscall.
[[nodiscard]] std::string_view preadSmall(int fd, std::span<char> buffer);

// The whole of `path`; kDamaged where it holds more than `limit` bytes.
[[nodiscard]] Result<std::string> readFile(const std::string& path, std::size_t limit = 16u << 20);

// The same where it is a regular file and no link: what somebody else has put there is not waited
// for.
[[nodiscard]] Result<std::string> readRegularFile(const std::string& path,
                                                  std::size_t limit = 16u << 20);

// strerror without its thread-safety trap.
[[nodiscard]] std::string errnoText(int error);

// `what`: errno's text, as an Error of kind kIo.
[[nodiscard]] Error ioError(const std::string& what, int error);

}  // namespace stallprof
