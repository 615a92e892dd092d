// SPDX-License-Identifier: MIT
#include "recording/format/crc32c.h"

#include <string>

#include "tests/catch.h"

namespace stallprof {
namespace {

TEST_CASE("checksums are those of RFC 3720") {
  const std::string zeros(32, '\0'), ones(32, '\xFF');
  CHECK(crc32c(zeros.data(), 32) == 0x8a9136aau);
  CHECK(crc32c(ones.data(), 32) == 0x62a8ab43u);
  CHECK(crc32c("123456789", 9) == 0xe3069283u);
  CHECK(crc32c("", 0) == 0);
}

TEST_CASE("the instruction and the table agree at every length and alignment") {
  std::string bytes;
  for (int i = 0; i < 300; ++i) bytes += static_cast<char>(i * 37 + 11);
  for (std::size_t from = 0; from < 9; ++from)
    for (std::size_t size = 0; size + from < bytes.size(); ++size)
      REQUIRE(crc32c(bytes.data() + from, size) == crc32cPortable(bytes.data() + from, size));
}

TEST_CASE("a checksum goes on where the former bytes ended") {
  const std::string text = "one and two";
  CHECK(crc32c(text.data() + 4, 7, crc32c(text.data(), 4)) == crc32c(text.data(), text.size()));
}

}  // namespace
}  // namespace stallprof
