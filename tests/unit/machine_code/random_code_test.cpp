// SPDX-License-Identifier: MIT
#include "machine_code/random_code.h"

#include <string>

#include "tests/catch.h"

using namespace stallprof;
using namespace std::string_literals;

TEST_CASE("code that multiplies by a generator's number draws random numbers") {
  CHECK(drawsRandomNumbers("\x48\x69\xc0\x8f\xbc\x00\x00\x90"s));          // imul $48271,%rax,%rax
  CHECK(drawsRandomNumbers("\x25\x80\x56\x2c\x9d"s));                      // and $0x9d2c5680,%eax
  CHECK(drawsRandomNumbers("\x48\xb8\x2d\x7f\x95\x4c\x2d\xf4\x51\x58"s));  // movabs, of PCG
}

TEST_CASE("other code does not, nor code that is cut") {
  CHECK_FALSE(drawsRandomNumbers(""));
  CHECK_FALSE(drawsRandomNumbers("\x48\x69\xc0\x8f\xbc\x00"s));
  CHECK_FALSE(drawsRandomNumbers("\x48\x69\xc0\x90\xbc\x00\x00\x90"s));
}
