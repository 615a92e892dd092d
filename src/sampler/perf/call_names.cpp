// SPDX-License-Identifier: MIT
#include "sampler/perf/call_names.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "sampler/proc/wait_class.h"
#include "sampler/python/runtime/remote_memory.h"

namespace stallprof {
namespace {

constexpr std::uint8_t kSyscall[] = {0x0F, 0x05};
constexpr std::uint8_t kMoveToEax = 0xB8;           // mov imm32, %eax
constexpr std::uint8_t kClearEax[] = {0x31, 0xC0};  // xor %eax, %eax: read
constexpr std::int32_t kMaxNumbers = 1024;          // more is no system call
constexpr std::size_t kMoveBytes = 1 + sizeof(std::int32_t);

std::string nameOfCall(std::int32_t number) {
  if (number < 0) return "system call";
  const std::string_view name = classOfCall(number).name;
  return name.empty() ? "system call " + std::to_string(number) : std::string(name);
}

}  // namespace

std::optional<std::int32_t> callBefore(std::span<const std::uint8_t> code) {
  if (code.size() < sizeof kSyscall) return std::nullopt;
  const std::span<const std::uint8_t> call = code.last(sizeof kSyscall);
  if (!std::equal(call.begin(), call.end(), kSyscall)) return std::nullopt;
  code = code.first(code.size() - sizeof kSyscall);
  const auto clear = code.size() < sizeof kClearEax ? code : code.last(sizeof kClearEax);
  if (std::equal(clear.begin(), clear.end(), std::begin(kClearEax), std::end(kClearEax))) return 0;
  // The nearest one: other registers may be set between.
  for (std::size_t at = code.size(); at-- > 0;) {
    if (code[at] != kMoveToEax || code.size() - at < kMoveBytes) continue;
    std::int32_t number = 0;
    std::memcpy(&number, code.data() + at + 1, sizeof number);
    if (number >= 0 && number < kMaxNumbers) return number;
  }
  return -1;
}

StringId CallNames::nameOf(std::uint32_t pid, std::uint64_t address, const NativeMaps::Place& place,
                           EventOut& out) {
  if (address < kCode || place.file.none()) return {};
  const auto key = std::tuple(place.file, place.build, place.offset);
  if (!place.madeAtRunTime)
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
  std::array<std::uint8_t, kCode> code{};
  python::ProcessMemory memory(pid);
  if (!memory.readBytes(address - kCode, code.data(), code.size())) return {};
  const std::optional<std::int32_t> number = callBefore(code);
  const StringId name = out.intern(number ? nameOfCall(*number) : std::string(kPageFault));
  if (known_.size() >= kMaxPlaces) known_.clear();
  if (!place.madeAtRunTime) known_[key] = name;
  return name;
}

}  // namespace stallprof
