// SPDX-License-Identifier: MIT
#include "machine_code/code_patterns.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "machine_code/x86_code.h"

namespace stallprof {
namespace {

// Of 32 bits, in the order of their standards and papers: std::minstd_rand (48271) and minstd_rand0
// (16807); std::mt19937 (twist and tempering); C's example of rand() and glibc's TYPE_0; Numerical
// Recipes; Philox 4x32. 16807 and 48271 have high zeros, so other values rarely hold their bytes.
constexpr std::uint32_t kShort[] = {48271,      16807,   0x9908b0df, 0x9d2c5680, 0xefc60000,
                                    1103515245, 1664525, 0xd2511f53, 0xcd9e8d57};
// Of 64 bits: Knuth's MMIX and PCG; xorshift64*; SplitMix64 (its two multipliers); std::mt19937_64;
// drand48 and Java.
constexpr std::uint64_t kLong[] = {6364136223846793005u, 0x2545f4914f6cdd1d, 0xbf58476d1ce4e5b9,
                                   0x94d049bb133111eb,   0xb5026f5aa96619e9, 0x71d67fffeda60000,
                                   0x5deece66d};

template <class T>
bool holds(std::string_view code, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  return code.find(std::string_view(bytes, sizeof value)) != std::string_view::npos;
}

constexpr std::string_view kPause = "\xF3\x90";

// From where the branch goes to that goes back over the PAUSE, to past it. Both 0: none does.
struct Loop {
  std::size_t begin = 0, end = 0;
};
Loop loopAround(std::string_view code, std::size_t pause) {
  std::size_t next = pause + kPause.size();
  while (next < code.size() && next - pause < kSpinNear) {
    const Instruction i = instructionAt(code.substr(next), next);
    if (i.length == 0 || i.is == Instruction::Is::kCall || i.is == Instruction::Is::kEnd) break;
    next += i.length;
    const bool jumps = i.is == Instruction::Is::kJump || i.is == Instruction::Is::kBranch;
    // An offset before the code's begin has wrapped around: no loop as short as these.
    if (jumps && i.target <= pause) return {static_cast<std::size_t>(i.target), next};
    if (i.is == Instruction::Is::kJump) break;
  }
  return {};
}

}  // namespace

bool drawsRandomNumbers(std::string_view code) {
  const auto inside = [&](auto value) { return holds(code, value); };
  return std::any_of(std::begin(kShort), std::end(kShort), inside) ||
         std::any_of(std::begin(kLong), std::end(kLong), inside);
}

bool waitsInSpinLoop(std::string_view code, std::size_t at) {
  for (std::size_t pause = 0; (pause = code.find(kPause, pause)) != std::string_view::npos;
       ++pause) {
    const Loop loop = loopAround(code, pause);
    if (at >= loop.begin && at < loop.end) return true;
  }
  return false;
}

}  // namespace stallprof
