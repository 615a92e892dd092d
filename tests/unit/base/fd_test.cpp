// SPDX-License-Identifier: MIT
#include "base/fd.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "tests/catch.h"

namespace stallprof {
namespace {

bool isOpen(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

Fd someFd() { return openAt(AT_FDCWD, "/dev/null", O_RDWR); }

TEST_CASE("a descriptor is closed with its owner, once") {
  int number = -1;
  {
    const Fd fd = someFd();
    number = fd.get();
    REQUIRE(isOpen(number));
  }
  CHECK_FALSE(isOpen(number));
}

TEST_CASE("a moved descriptor has one owner") {
  Fd first = someFd();
  const int number = first.get();
  Fd second = std::move(first);
  CHECK_FALSE(first.valid());  // NOLINT: the moved-from state is what is tested
  CHECK(second.get() == number);
  second = someFd();
  CHECK((second.get() == number || !isOpen(number)));
  const int released = second.release();
  CHECK(isOpen(released));
  ::close(released);
}

TEST_CASE("opened descriptors do not reach programs that are started") {
  CHECK((::fcntl(someFd().get(), F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_CASE("a file that is not there says why") {
  const Fd fd = openAt(AT_FDCWD, "/no/such/file", O_RDONLY);
  const int error = errno;
  CHECK_FALSE(fd.valid());
  CHECK(error == ENOENT);
  const auto text = readFile("/no/such/file");
  REQUIRE_FALSE(text.ok());
  CHECK(text.error().kind == Error::Kind::kIo);
  CHECK(text.error().message == "opening '/no/such/file': No such file or directory");
}

TEST_CASE("writeAll writes all to a pipe and says when nobody reads") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  Fd out(ends[1]);
  {
    const Fd in(ends[0]);
    CHECK(writeAll(out.get(), "hello"));
    std::array<char, 16> buffer{};
    CHECK(::read(in.get(), buffer.data(), buffer.size()) == 5);
  }
  CHECK_FALSE(writeAll(-1, "x"));
  CHECK(errno == EBADF);
  CHECK(writeAll(-1, ""));
}

TEST_CASE("a small file is read from its beginning each time, in what room there is") {
  const Fd fd = openAt(AT_FDCWD, "/proc/self/comm", O_RDONLY);
  std::array<char, 64> buffer{};
  const std::string first(preadSmall(fd.get(), buffer));
  CHECK(first.size() > 1);
  CHECK(preadSmall(fd.get(), buffer) == first);
  CHECK(preadSmall(fd.get(), std::span(buffer).first(2)) == first.substr(0, 2));
  CHECK(preadSmall(-1, buffer).empty());
}

TEST_CASE("a file larger than its limit is refused, not cut") {
  const auto text = readFile("/proc/self/status", 10);
  REQUIRE_FALSE(text.ok());
  CHECK(text.error().kind == Error::Kind::kDamaged);
  CHECK(readFile("/proc/self/status").ok());
}

}  // namespace
}  // namespace stallprof
