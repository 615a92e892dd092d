// SPDX-License-Identifier: MIT
#include "machine_code/code_patterns.h"

#include <string>

#include "tests/catch.h"

using namespace stallprof;
using namespace std::string_literals;

namespace {

// As the sampler has it: the loop's bytes amid others, `at` counted from its first.
bool waits(const std::string& loop, std::size_t at) {
  const std::string nops(kSpinNear, '\x90');
  return waitsInSpinLoop(nops + loop + nops, kSpinNear + at);
}

}  // namespace

TEST_CASE("instructions of a short loop around PAUSE wait; those beside it do not") {
  // oneDNN's barrier: pause; cmp 0x40(%rbx),%rax; je back
  const std::string barrier = "\xf3\x90\x48\x3b\x43\x40\x74\xf8"s;
  for (const std::size_t at : {0, 2, 6}) CHECK(waits(barrier, at));
  CHECK_FALSE(waits(barrier, 8));
  CHECK_FALSE(waitsInSpinLoop(barrier, 8));
  // The test first: mov (%rdi),%eax; test %eax,%eax; jne out; pause; jmp back
  const std::string lock = "\x8b\x07\x85\xc0\x75\x04\xf3\x90\xeb\xf6"s;
  for (const std::size_t at : {0, 2, 4, 6, 8}) CHECK(waits(lock, at));
  // libgomp's: pause; add $1,%rax; cmp %rdx,%rax; je out; mov (%rcx),%ecx; cmp %ecx,%ebx; je back
  CHECK(waits(
      "\xf3\x90\x48\x83\xc0\x01\x48\x39\xd0\x74\x2d\x8b\x0d\x00\x00\x00\x00\x39\xcb\x74\xeb"s, 6));
}

TEST_CASE("a PAUSE in no loop, a loop without one, and cut code do not wait") {
  CHECK_FALSE(waits("\xf3\x90\xc3"s, 0));              // pause; ret
  CHECK_FALSE(waits("\xf3\x90\xeb\x02"s, 0));          // pause; jmp on
  CHECK_FALSE(waits("\xf3\x90\xff\xd0\x74\xfa"s, 0));  // pause; call: a loop that does more
  CHECK_FALSE(waits("\x48\x3b\x43\x40\x74\xfa"s, 0));
  CHECK_FALSE(waits("\xf3\x90\xeb\x80"s, 0));  // back by 128 bytes: before all that was read
  CHECK_FALSE(waitsInSpinLoop("\xf3\x90\x74"s, 0));
  CHECK_FALSE(waitsInSpinLoop("", 0));
  CHECK_FALSE(waitsInSpinLoop("\xf3", 5));
}

TEST_CASE("code that multiplies by a generator's number draws random numbers") {
  CHECK(drawsRandomNumbers("\x48\x69\xc0\x8f\xbc\x00\x00\x90"s));          // imul $48271,%rax,%rax
  CHECK(drawsRandomNumbers("\x25\x80\x56\x2c\x9d"s));                      // and $0x9d2c5680,%eax
  CHECK(drawsRandomNumbers("\x48\xb8\x2d\x7f\x95\x4c\x2d\xf4\x51\x58"s));  // movabs, of PCG
}

TEST_CASE("other code draws no random numbers, nor code that is cut") {
  CHECK_FALSE(drawsRandomNumbers(""));
  CHECK_FALSE(drawsRandomNumbers("\x48\x69\xc0\x8f\xbc\x00"s));
  CHECK_FALSE(drawsRandomNumbers("\x48\x69\xc0\x90\xbc\x00\x00\x90"s));
}
