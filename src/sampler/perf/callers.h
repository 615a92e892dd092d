// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>

#include "sampler/perf/native_maps.h"

namespace stallprof {

// The bytes before an address are an instruction that calls: what follows it is where a function
// returns to. kCallBytes of them, the address behind the last.
inline constexpr std::size_t kCallBytes = 8;
[[nodiscard]] bool endsInCall(std::span<const std::uint8_t, kCallBytes> code);

// Who called the library that a sample fell into: the first word of the thread's stack that is
// mapped code of another file and stands behind a call. Frame pointers and tables of frames are not
// needed, and a library's own frames are passed over; a word left over from a call that has
// returned may be taken for it, where the library left that part of its frame unwritten.
class Callers {
 public:
  static constexpr std::size_t kMaxPlaces = 16384;

  // `stack`: words from the top. The place lies within the call. None: not found.
  [[nodiscard]] NativeMaps::Place callerOf(std::uint32_t pid, std::span<const std::uint64_t> stack,
                                           StringId library, const NativeMaps& maps);

 private:
  [[nodiscard]] bool isReturn(std::uint32_t pid, std::uint64_t address,
                              const NativeMaps::Place& place);

  std::map<std::tuple<StringId, StringId, std::uint64_t>, bool> known_;  // by place
};

}  // namespace stallprof
