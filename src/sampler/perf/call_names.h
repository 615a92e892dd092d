// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>

#include "event/event_out.h"
#include "sampler/perf/native_maps.h"

namespace stallprof {

inline constexpr std::string_view kPageFault = "page_fault";

// Code right before the instruction that a thread returns to; nullopt: it did not come by a system
// call. Else the call's number, -1 where the code does not hold it: compilers put it into eax just
// before (97 % of the places in glibc 2.36; the others are calls with a number of the caller's).
[[nodiscard]] std::optional<std::int32_t> callBefore(std::span<const std::uint8_t> code);

// Which system call a thread was in when a sample found it in the kernel, by the code it will
// return to: no tracepoint is needed, and the code of each place is read once.
class CallNames {
 public:
  static constexpr std::size_t kMaxPlaces = 16384;
  static constexpr std::size_t kCode = 24;  // bytes before the return that may set the number

  // `address` and `place`: where the process runs on. "openat"; "page_fault" where it was
  // interrupted outside of a call, mostly by one; none: not known.
  [[nodiscard]] StringId nameOf(std::uint32_t pid, std::uint64_t address,
                                const NativeMaps::Place& place, EventOut& out);

 private:
  std::map<std::tuple<StringId, StringId, std::uint64_t>, StringId> known_;  // by place
};

}  // namespace stallprof
