// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "classify/rule_table.h"

namespace stallprof {

// What a function's name says of a model: that it is run, or that its gradients are found.
enum class ModelPass : std::uint8_t { kNone, kForward, kBackward };

// What CPU time in native code was for, by its place alone: of programs without an interpreter,
// whose stacks are not seen.
struct NativeWork {
  enum class Is : std::uint8_t {
    kUnknown,  // libc, memory: whoever called it
    kOwn,      // the program's own code, or a library's that no rule knows
    kPhase,    // `phase`, by a rule or by the words of the function's name
    kMakes,    // random numbers, text, buffered reading: data, where no name and no loop says
               // otherwise
    kOpen,     // finding, opening and closing files, in the kernel: extract
    kRead,     // reading, in the kernel: extract
    kRegion,   // a loop that OpenMP divides among threads, as its compiler named it
    kTeam,     // handing out such loops, or spinning until the others have done theirs
    kLock,     // a lock, by its functions or in the kernel: for the loops of a team, where there
               // is one, or what the thread does beside it
  };
  Is is = Is::kUnknown;
  Phase phase = Phase::kUnknown;
  bool byName = false;  // only the words of the program's own function say so
  ModelPass pass = ModelPass::kNone;
  bool evaluates = false;   // of periodic: by a rule
  bool ofTemplate = false;  // kOwn: of the standard library, for whoever called it
};

// Of a place in `file` (a path as it was mapped) whose function is `symbol` as the file spells it.
// A rule of the table decides, but of the program's own code only users' rules and those that name
// functions; then names that OpenMP's compilers give; then the words of the name. Who draws random
// numbers or has libc read and compare text where nothing says that it trains makes data: samples,
// an order, noise, words. A template of the standard library that was given a lambda (a sort, a
// std::function) is for the function in which the lambda was written, another for its caller.
[[nodiscard]] NativeWork nativeWork(const RuleTable& table, std::string_view file,
                                    std::string_view symbol);

// A loop that OpenMP divides, as its compiler names it: "train._omp_fn.0" of GCC, ".omp_outlined."
// of clang.
[[nodiscard]] bool isOpenMpLoop(std::string_view symbol);

// Of a place in the kernel, which has the name of the system call that led there.
[[nodiscard]] NativeWork kernelWork(std::string_view call);

// "BatchLoader::nextBatch_2" as "batch", "loader", "next", "batch".
[[nodiscard]] std::vector<std::string> splitName(std::string_view name);

// What the words of a function's name say it does: "matmul_forward" and "AdamW::step" compute,
// "load_batch" and "Tokenizer::encode" make data; kUnknown where they say nothing, or both.
[[nodiscard]] Phase phaseOfWords(std::string_view function);
// "matmul_forward", "Conv2d::backward"; none where it says nothing, or both.
[[nodiscard]] ModelPass passOfWords(std::string_view function);

}  // namespace stallprof
