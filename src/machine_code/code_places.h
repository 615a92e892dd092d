// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "event/vocabulary.h"
#include "machine_code/elf_symbols.h"
#include "machine_code/loop_code.h"

namespace stallprof {

// A place in a file of machine code, and what the file says of it.
struct CodePlace {
  std::uint64_t offset = 0;
  bool call = false;          // it lies within an instruction that calls
  std::string function = {};  // as the symbols spell it; empty: none is known
  bool draws = false;         // the code around it draws random numbers
  LoopCode loop{};            // that it lies in, where loops are judged
};

// Reads what files of machine code say of places in them, as they lie on this host, and of their
// debugging symbols (/usr/lib/debug/.build-id) where installed. A file is believed where its build
// id is the one given; without one, where it has not changed since the run began. Only regular
// files of a disk are opened, named by an absolute path. Files are untrusted: memory and time are
// bounded. Not thread-safe.
class CodePlaces {
 public:
  enum class File : std::uint8_t {
    kNone,     // no file: "[vdso]", "//anon"
    kRead,     //
    kMissing,  // not here: another host, a container, deleted
    kChanged   // of another build than the one that ran
  };

  // `started`: when the run began, in real time. `loops`: of programs without an interpreter, what
  // the loop around a place does; where one ran, its stacks say what native code is for.
  CodePlaces(Nanos started, bool loops, std::string debugRoot = "/usr/lib/debug")
      : started_(started), judgesLoops_(loops), debugRoot_(std::move(debugRoot)) {}

  // `places` of one file, by offset.
  File read(const std::string& path, const std::string& build, std::vector<CodePlace>& places);

 private:
  void judgeLoops(const ElfSymbols& elf, std::vector<CodePlace>& places);

  Nanos started_;
  bool judgesLoops_;
  std::string debugRoot_;
  std::size_t loops_ = 0;
  std::uint64_t steps_ = LoopCodes::kMaxSteps;
};

}  // namespace stallprof
