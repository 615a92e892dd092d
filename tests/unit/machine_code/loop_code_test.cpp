// SPDX-License-Identifier: MIT
#include "machine_code/loop_code.h"

#include <string>

#include "tests/catch.h"

using namespace stallprof;
using namespace std::string_literals;

namespace {

LoopCode at(const std::string& code, std::uint64_t offset = 0) {
  return LoopCodes(code, 0).at(offset);
}

const std::string kEnd = "\x48\xff\xc0\x48\x39\xd0"s;  // inc %rax; cmp %rdx,%rax; then jl
// movss (%rdi,%rax,4),%xmm1; mulss (%rsi,%rax,4),%xmm1; addss %xmm1,%xmm0
const std::string kDot = "\xf3\x0f\x10\x0c\x87\xf3\x0f\x59\x0c\x86\xf3\x0f\x58\xc1"s + kEnd;

}  // namespace

TEST_CASE("an instruction is as long as its prefixes, operands and immediates make it") {
  const auto length = [](const std::string& code) { return instructionAt(code, 0).length; };
  CHECK(length("\x90"s) == 1);
  CHECK(length("\x66\x0f\x1f\x84\x00\x00\x00\x00\x00"s) == 9);       // nopw 0(%rax,%rax)
  CHECK(length("\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08"s) == 10);  // movabs
  CHECK(length("\x66\xc7\x05\x00\x01\x00\x00\x01\x02"s) == 9);       // movw $,(%rip)
  CHECK(length("\xf6\x44\x24\x08\x01"s) == 5);                       // testb $1,8(%rsp)
  CHECK(length("\xf7\x5c\x24\x08"s) == 4);                           // negl 8(%rsp)
  CHECK(length("\xc4\xe2\x7d\xa8\x0c\x86"s) == 6);                   // vfmadd213ps
  CHECK(length("\x62\xf1\x7c\x48\x58\x44\x8e\x01"s) == 8);           // vaddps, 512 bits
  CHECK(length("\x62\xf3\x6d\x48\x25\xc1\xff"s) == 7);               // vpternlogd
  CHECK(length("\x48\xb8\x01\x02"s) == 0);                           // cut
  CHECK(length(""s) == 0);
}

TEST_CASE("a loop sums products in a register, or adds them to numbers in memory") {
  CHECK(at(kDot + "\x7c\xea\xc3"s) == LoopCode::kProducts);
  // vmovups (%rdi,%rax,4),%ymm1; vfmadd213ps (%rsi,%rax,4),%ymm0,%ymm1; and back to (%rsi,%rax,4)
  const std::string update =
      "\xc5\xfc\x10\x0c\x87\xc4\xe2\x7d\xa8\x0c\x86\xc5\xfc\x11\x0c\x86\x48\x83\xc0\x08\x48\x39\xd0"s
      "\x7c\xe7\xc3"s;
  for (const std::uint64_t offset : {0, 5, 11, 16, 20, 23}) {
    INFO(offset);
    CHECK(at(update, offset) == LoopCode::kUpdates);
  }
}

TEST_CASE("a loop is for what the loops within it do, and passed by is what goes on early") {
  // A draw; nothing more for some; else a sum of products, and one that is added to memory.
  const std::string code =
      "\x49\x0f\xaf\xd8\x49\xf7\xf1\x31\xc0\x4c\x39\xd3\x74\x33"s + kDot +
      "\x7c\xea\x31\xc0"s
      "\xf3\x0f\x10\x0c\x87\xf3\x0f\x59\xc8\xf3\x0f\x58\x0c\x86\xf3\x0f\x11\x0c\x86"s +
      kEnd + "\x7c\xe5\x49\xff\xcb\x75\xba\xc3"s;
  CHECK(at(code, 4) == LoopCode::kUpdates);  // div
  CHECK(at(code, 14) == LoopCode::kProducts);
  CHECK(at(code, 38) == LoopCode::kUpdates);
}

TEST_CASE(
    "a scale and an offset, pixels, noise and what another function returns are no training") {
  const std::string scale =
      "\x0f\x10\x04\x87\x0f\x59\xc2\x0f\x58\xc3\x0f\x11\x04\x86\x48\x83\xc0\x04\x48\x39\xd0\x7c\xe9"s;
  const std::string pixels =
      "\x0f\xb6\x0c\x07\xf3\x0f\x2a\xc9\xf3\x0f\x59\x0c\x86\xf3\x0f\x58\xc1"s + kEnd + "\x7c\xe7"s;
  const std::string noise =
      "\x48\x69\xdb\x8f\xbc\x00\x00\xf3\x0f\x59\xca\xf3\x0f\x58\x0c\x86\xf3\x0f\x11\x0c\x86"s +
      kEnd + "\x7c\xe3"s;
  const std::string calls =
      "\xe8\xfb\xff\xff\xff\xf3\x0f\x59\xca\xf3\x0f\x58\xc1\x48\xff\xc9\x75\xee"s;
  // movss (%rax),%xmm0; mulss %xmm2,%xmm0; addss 8(%rax),%xmm0; movss %xmm0,12(%rax); add $16,%rax
  const std::string members =
      "\xf3\x0f\x10\x00\xf3\x0f\x59\xc2\xf3\x0f\x58\x40\x08\xf3\x0f\x11\x40\x0c\x48\x83\xc0\x10"
      "\x48\x39\xd0\x7c\xe5"s;
  for (const std::string& code : {scale, pixels, noise, calls, members}) {
    INFO(code.size());
    CHECK(at(code + "\xc3"s) == LoopCode::kUnknown);
  }
}

TEST_CASE("a loop over bytes without floating-point numbers handles bytes") {
  // movsbl (%rdi,%rax),%ecx; imul $257,%ebx; add %ecx,%ebx
  const std::string hash = "\x0f\xbe\x0c\x07\x69\xdb\x01\x01\x00\x00\x01\xcb"s + kEnd + "\x7c\xec"s;
  CHECK(at(hash + "\xc3"s) == LoopCode::kBytes);
  // movsbl (%rdi,%rax),%ecx; movsbl (%rsi,%rax),%ebx; imul %ebx,%ecx; add %ecx,%ebp: numbers of a
  // byte
  const std::string quantized =
      "\x0f\xbe\x0c\x07\x0f\xbe\x1c\x06\x0f\xaf\xcb\x01\xcd"s + kEnd + "\x7c\xeb"s;
  CHECK(at(quantized + "\xc3"s) == LoopCode::kUnknown);
}

TEST_CASE("what two rows of memory add up to is no update by itself") {
  // movss (%rdi,%rax,4),%xmm0; subss (%rsi,%rax,4),%xmm0; movss %xmm0,(%rdi,%rax,4)
  const std::string mean =
      "\xf3\x0f\x10\x04\x87\xf3\x0f\x5c\x04\x86\xf3\x0f\x11\x04\x87"s + kEnd + "\x7c\xe9"s;
  CHECK(at(mean + "\xc3"s) == LoopCode::kProducts);
}

TEST_CASE("once the steps of a recording are used up all is unknown") {
  const std::string code = kDot + "\x7c\xea\xc3"s;
  CHECK(LoopCodes(code, 0, 5).at(0) == LoopCode::kUnknown);
  LoopCodes loops(code, 0);
  CHECK(loops.at(0) == LoopCode::kProducts);
  CHECK(loops.stepsLeft() < LoopCodes::kMaxSteps);
}

TEST_CASE("code in no loop, cut, or made to be walked forever is unknown") {
  CHECK(at("\xc3"s) == LoopCode::kUnknown);
  CHECK(at(kDot) == LoopCode::kUnknown);
  CHECK(at(kDot + "\x7c\xea\xc3"s, 4000) == LoopCode::kUnknown);
  CHECK(at("\x90\xeb\xfe"s) == LoopCode::kUnknown);  // jumps to itself
  CHECK(at("\x90\x75\xfe\x75\xfc\x75\xfb\xc3"s) == LoopCode::kUnknown);
}
