// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

namespace stallprof {

// One instruction of x86-64, as far as it matters to what a loop does (loop_code.h).
struct Instruction {
  enum class Is : std::uint8_t {
    kOther,
    kJump,      // to `target`, always
    kBranch,    // to `target`, or on
    kCall,      // and back
    kEnd,       // goes where nothing here says: returns, jumps by a register, traps
    kMove,      // of floating-point numbers, or of bytes that may be such
    kAdd,       // or subtracts: floating-point numbers, as below
    kMultiply,  //
    kFused,     // multiplies and adds
    kFloat,     // any other arithmetic of floating-point numbers
    kConvert,   // from integers to floating-point numbers
  };
  // Of a fused one: first * third + second, second * first + third, second * third + first.
  enum class Form : std::uint8_t { kNone, k132, k213, k231 };
  static constexpr std::int8_t kNone = -1;

  std::uint64_t at = 0, target = 0;  // offsets, as `at` was given
  std::uint8_t length = 0;           // 0: no such instruction, or cut
  Is is = Is::kOther;
  Form form = Form::kNone;
  // Vector registers: the one written (of a store the one read), and what is read besides. An
  // instruction of two operands reads `first` where one of three reads `second`.
  std::int8_t first = kNone, second = kNone, third = kNone;
  std::uint64_t memory = 0;  // where the operand lies, by base, index, scale, displacement; 0: none
  bool fixed = false;        // in the thread's frame, or at an address of its own
  bool indexed = false;      // by a register beside the base
  bool store = false;        // to `memory`
  bool byte = false;         // reads a single byte from memory, not from the frame
  bool integers = false;     // multiplies two integers, neither of which is a constant

  [[nodiscard]] bool floats() const { return is >= Is::kAdd; }
  // The row of numbers that `memory` is one of: an unrolled loop has displacements. Without an
  // index they may be members of a structure instead, each of which is a row of its own.
  [[nodiscard]] std::uint64_t memoryStream() const { return indexed ? memory >> 32 << 32 : memory; }
};

// The instruction at the front of `code`, which lies at `at`. Opcode maps of Intel's manual, volume
// 2, appendix A; encodings of Intel APX and AMD XOP are not known.
[[nodiscard]] Instruction instructionAt(std::string_view code, std::uint64_t at);

}  // namespace stallprof
