// SPDX-License-Identifier: MIT
#include "sampler/perf/callers.h"

#include <array>

#include "sampler/python/runtime/remote_memory.h"

namespace stallprof {

// call rel32 (E8); call r/m64 (FF /2) by its length: registers, memory without and with a
// displacement of 1 or 4 bytes, with and without a SIB byte.
bool endsInCall(std::span<const std::uint8_t, kCallBytes> code) {
  const auto back = [&](std::size_t bytes) { return code[kCallBytes - bytes]; };
  const auto form = [](std::uint8_t modrm, std::uint8_t mode) { return (modrm & 0xF8) == mode; };
  if (back(5) == 0xE8) return true;
  if (back(2) == 0xFF && (form(back(1), 0xD0) || form(back(1), 0x10))) return true;
  if (back(3) == 0xFF && (form(back(2), 0x50) || back(2) == 0x14)) return true;
  if (back(4) == 0xFF && back(3) == 0x54) return true;
  if (back(6) == 0xFF && (form(back(5), 0x90) || back(5) == 0x15)) return true;
  return back(7) == 0xFF && back(6) == 0x94;
}

bool Callers::isReturn(std::uint32_t pid, std::uint64_t address, const NativeMaps::Place& place) {
  const auto key = std::tuple(place.file, place.build, place.offset);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  std::array<std::uint8_t, kCallBytes> code{};
  python::ProcessMemory memory(pid);
  if (!memory.readBytes(address - kCallBytes, code.data(), code.size())) return false;
  if (known_.size() >= kMaxPlaces) known_.clear();
  return known_[key] = endsInCall(code);
}

NativeMaps::Place Callers::callerOf(std::uint32_t pid, std::span<const std::uint64_t> stack,
                                    StringId library, const NativeMaps& maps) {
  for (const std::uint64_t word : stack) {
    if (word < kCallBytes) continue;
    auto place = maps.find(pid, word);
    if (!place || place->madeAtRunTime || place->file.none() || place->file == library ||
        !isReturn(pid, word, *place))
      continue;
    --place->offset;
    return *place;
  }
  return {};
}

}  // namespace stallprof
