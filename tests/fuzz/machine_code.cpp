// SPDX-License-Identifier: MIT
// Code of a program around a sampled instruction: the first byte is its place, the rest the code.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "machine_code/code_patterns.h"
#include "machine_code/loop_code.h"

using namespace stallprof;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view code(reinterpret_cast<const char*>(data) + 1, size - 1);
  constexpr std::uint64_t kBegin = 1u << 20;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const Instruction instruction = instructionAt(code.substr(i), kBegin + i);
    if (instruction.length > code.size() - i || instruction.length > 15) std::abort();
  }
  if (waitsInSpinLoop(code, data[0]) && code.find("\xF3\x90") == code.npos) std::abort();
  LoopCodes loops(code, kBegin);
  for (const std::uint64_t place : {kBegin + data[0], kBegin, kBegin - 1})
    if (loops.at(place) > LoopCode::kBytes) std::abort();
  return 0;
}
