// SPDX-License-Identifier: MIT
#include "sampler/perf/jit/jit_functions.h"

#include <iterator>

namespace stallprof {

void JitFunctions::add(std::uint64_t begin, std::uint64_t bytes, std::string_view name) {
  if (begin == 0 || bytes == 0 || bytes > kMaxBytes || begin + bytes < begin || name.empty())
    return;
  auto at = functions_.upper_bound(begin);
  if (at != functions_.begin() && std::prev(at)->second.end > begin) --at;
  while (at != functions_.end() && at->first < begin + bytes) at = functions_.erase(at);
  functions_.emplace_hint(at, begin, Rest{begin + bytes, std::string(name.substr(0, kMaxName))});
}

void JitFunctions::move(std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
  const auto at = functions_.find(from);
  if (at == functions_.end()) return;
  const std::string name = std::move(at->second.name);
  functions_.erase(at);
  add(to, bytes, name);
}

JitFunctions::Function JitFunctions::find(std::uint64_t address) const {
  auto at = functions_.upper_bound(address);
  if (at == functions_.begin()) return {};
  --at;
  if (address >= at->second.end) return {};
  return {at->first, at->second.end, at->second.name};
}

}  // namespace stallprof
