// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace stallprof {

// The functions that a process has made at run time, by address. What is added later replaces what
// it overlaps: code is freed, and other code takes its place.
class JitFunctions {
 public:
  static constexpr std::size_t kMaxName = 200;
  static constexpr std::uint64_t kMaxBytes = 1u << 30;  // of one function

  struct Function {
    std::uint64_t begin = 0, end = 0;
    std::string_view name;  // bytes of the job's; of the table until it changes
  };

  // Ranges that cannot be, and names without a byte, are passed over.
  void add(std::uint64_t begin, std::uint64_t bytes, std::string_view name);
  // Code that was moved keeps its name; unknown code is passed over.
  void move(std::uint64_t from, std::uint64_t to, std::uint64_t bytes);
  void clear() { functions_.clear(); }
  // begin 0: none is known there.
  [[nodiscard]] Function find(std::uint64_t address) const;
  [[nodiscard]] std::size_t size() const { return functions_.size(); }

 private:
  struct Rest {
    std::uint64_t end = 0;
    std::string name;
  };
  std::map<std::uint64_t, Rest> functions_;  // by begin; they do not overlap
};

}  // namespace stallprof
