// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/fd.h"
#include "sampler/perf/jit/jit_functions.h"

namespace stallprof {

// A file to which a JIT compiler appends the functions it makes, read as it grows. A perf map
// (/tmp/perf-PID.map) has lines of "BEGIN BYTES NAME", numbers in hexadecimal; a jitdump
// (jit-PID.dump) binary records with the code itself, which is passed over. Both are defined by
// Linux (tools/perf/Documentation/jit-interface.txt, jitdump-specification.txt). The job writes
// them: nothing in them is trusted, what cannot be is passed over.
class JitFile {
 public:
  enum class Format : std::uint8_t { kPerfMap, kJitDump };
  static constexpr std::size_t kMaxBytesAtOnce = 1u << 20;  // 2 ms of CPU
  static constexpr std::uint64_t kMaxFileBytes = 1u << 30;

  JitFile(Fd file, Format format) : file_(std::move(file)), format_(format) {}
  // Reads what has been appended since the last call, or a part of it; of a file that is shorter
  // than what was read, all. Stops at `maximum` functions, and what the
  // 64 KiB hold that reach it.
  void readOn(JitFunctions& functions, std::size_t maximum);

 private:
  // Of the bytes at read_: how many are done with. 0: more are needed.
  [[nodiscard]] std::uint64_t takeLines(std::string_view text, JitFunctions& functions) const;
  [[nodiscard]] std::uint64_t takeRecords(std::span<const std::uint8_t> bytes, std::uint64_t left,
                                          JitFunctions& functions);

  Fd file_;
  Format format_;
  std::uint64_t read_ = 0;
  std::uint32_t pid_ = 0;  // who began the dump: forked children write to it, too
  bool bad_ = false;       // not such a file
};

}  // namespace stallprof
