// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "event/vocabulary.h"
#include "machine_code/x86_code.h"

namespace stallprof {

// What loops in a piece of machine code of x86-64 do. No symbols are needed: from a sampled place
// the code is walked as it runs, a branch backwards taken the first time and one forwards the
// second, until the place is met again; what was walked is its innermost loop, with the loops
// within. Where that shows nothing the loop around it is asked, up to four times. A loop sums
// products, or adds them to memory, where the result of a multiplication is added to a register
// that nothing else in the innermost loop writes, or to a number that is stored where it was
// loaded. A scale and an offset (x * a + b) are neither, nor is a sum of what was converted from
// integers there (pixels, counts), or of what a generator drew. Sums of two rows of memory without
// a product (an image and its mean, a gradient and its share) count as `products`: compute only
// where the program trains. A forged file costs a bounded number of steps.
class LoopCodes {
 public:
  // Instructions walked, for all places of a recording: some seconds. A training needs 10,000 a
  // place at most.
  static constexpr std::uint64_t kMaxSteps = 50'000'000;

  // `code`: the bytes of the file from `begin` on. Once the steps are used up all is unknown.
  LoopCodes(std::string_view code, std::uint64_t begin, std::uint64_t steps = kMaxSteps)
      : code_(code), begin_(begin), steps_(steps) {}
  [[nodiscard]] std::uint64_t stepsLeft() const { return steps_; }

  // Of an instruction at `offset` of the file.
  [[nodiscard]] LoopCode at(std::uint64_t offset);

  // How far a loop may reach from a place in it: a training loop with all that was inlined into it
  // has 10 KiB.
  static constexpr std::uint64_t kReach = 16384;

 private:
  using Body = std::vector<Instruction>;  // in the order they run
  using Edges = std::set<std::uint64_t>;  // branches backwards
  // Empty: none is seen. `left`: what is passed by at first; adds what closed the loop, so that the
  // next call finds the loop around it.
  [[nodiscard]] Body loopAround(std::uint64_t offset, Edges& left);
  [[nodiscard]] LoopCode codeOf(const Body& body);
  [[nodiscard]] const Instruction* decoded(std::uint64_t offset);
  [[nodiscard]] LoopCode sumsIn(const Body& body);
  bool take(std::uint64_t steps);  // false: there are not as many left
  [[nodiscard]] bool draws(const Body& body) const;

  std::string_view code_;
  std::uint64_t begin_, steps_;
  std::map<std::uint64_t, Instruction> instructions_;
  std::map<std::uint64_t, LoopCode> sums_;  // of the loops around multiplications
};

}  // namespace stallprof
