// SPDX-License-Identifier: MIT
#include "machine_code/spin_code.h"

#include "machine_code/x86_code.h"

namespace stallprof {
namespace {

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

bool waitsInSpinLoop(std::string_view code, std::size_t at) {
  for (std::size_t pause = 0; (pause = code.find(kPause, pause)) != std::string_view::npos;
       ++pause) {
    const Loop loop = loopAround(code, pause);
    if (at >= loop.begin && at < loop.end) return true;
  }
  return false;
}

}  // namespace stallprof
