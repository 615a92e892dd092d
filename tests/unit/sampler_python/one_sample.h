// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sampler/python/runtime/code_cache.h"
#include "sampler/python/runtime/interpreter.h"
#include "sampler/python/runtime/stack_reader.h"

namespace stallprof::python::testing {

// The stack of one thread, outermost frame first.
struct Frame {
  std::string function, file;
  std::uint32_t line = 0;
};
struct Stack {
  std::uint32_t tid = 0;
  bool holdsGil = false, collecting = false;
  StackReader::Outcome outcome = StackReader::Outcome::kTorn;
  std::vector<Frame> frames;
};

// "tid function:file:line function:file:line ..."; files by their last part.
std::string describe(const Stack& stack);

// Reads every thread of a runtime once, with all the parts a run uses. Empty: not readable.
struct Sample {
  std::string wrong;
  std::uint32_t version = 0;
  std::vector<Stack> stacks;
};
// `kept`: what was learnt of threads at earlier samples, by tid. `tries`: readings of a stack that
// is torn.
using Kept = std::map<std::uint32_t, StackMemory>;
Sample sampleOnce(const Runtime& runtime, RemoteMemory& memory,
                  const std::function<bool(std::uint32_t)>& isThread, Kept& kept, int tries = 3);

// Passes reads on and keeps what was read: the memory image of one sample.
class RecordingMemory : public RemoteMemory {
 public:
  explicit RecordingMemory(RemoteMemory& of) : of_(of) {}
  std::size_t read(std::span<const RemoteSpan> spans) override;
  const std::map<Address, std::vector<std::uint8_t>>& ranges() const { return ranges_; }

 private:
  RemoteMemory& of_;
  std::map<Address, std::vector<std::uint8_t>> ranges_;
};

// An image kept in a file: what python_stacks --save wrote.
class Image : public RemoteMemory {
 public:
  // Lines: "runtime AT CODETYPE VERSION MINOR", "thread TID", "stack TEXT" (describe's), "memory
  // AT HEX". Numbers in hexadecimal but for tids and MINOR.
  static Image load(const std::string& path);
  std::size_t read(std::span<const RemoteSpan> spans) override;

  Runtime runtime;
  std::vector<std::uint32_t> threads;
  std::vector<std::string> stacks;
  std::map<Address, std::vector<std::uint8_t>> ranges;
};
void save(const std::string& path, const std::string& comment, const Runtime& runtime,
          const Sample& sample, const RecordingMemory& memory);

}  // namespace stallprof::python::testing
