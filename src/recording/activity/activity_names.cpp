// SPDX-License-Identifier: MIT
#include "recording/activity/activity_names.h"

#include <cstring>
#include <string_view>

#include "recording/activity/activity_work.h"
#include "recording/memory/activity_memory.h"

namespace stallprof {
namespace {

constexpr std::size_t kMaxNames = STALLPROF_NAME_BYTES / sizeof(stallprof_name);

}  // namespace

std::uint64_t ActivityNames::take(std::span<const std::uint8_t> bytes, EventOut& out) {
  bytesRead_ += bytes.size();
  while (!broken_ && !bytes.empty()) {
    stallprof_name header{};
    if (bytes.size() < sizeof header) break;
    std::memcpy(&header, bytes.data(), sizeof header);
    const std::size_t padded = (std::size_t{header.length} + 7) & ~std::size_t{7};
    broken_ = header.length > STALLPROF_NAME_LIMIT || header.number != names_.size() + 1 ||
              padded > bytes.size() - sizeof header || names_.size() >= kMaxNames;
    if (broken_) break;
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + sizeof header,
                                header.length);
    names_.push_back({out.intern(text), isCollective(text)});
    byPointer_[header.pointer] = header.number;
    bytes = bytes.subspan(sizeof header + padded);
  }
  return bytes.size();
}

std::uint32_t ActivityNames::numberOf(std::uint64_t word) const {
  if (word < STALLPROF_NAME_NUMBERS)
    return word <= names_.size() ? static_cast<std::uint32_t>(word) : 0;
  const auto found = byPointer_.find(word);
  return found == byPointer_.end() ? 0 : found->second;
}

}  // namespace stallprof
