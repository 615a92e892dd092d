// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "recording/memory/event_memory.h"

namespace stallprof::testing {

// The job's side of the event memory as event_memory.h describes it, and with ways to break it.
class RingWriter {
 public:
  using Value = std::variant<std::int64_t, std::string>;

  explicit RingWriter(const std::string& path);
  RingWriter(const RingWriter&) = delete;
  RingWriter& operator=(const RingWriter&) = delete;
  ~RingWriter();

  [[nodiscard]] stallprof_slot& slot(std::size_t index = 0) { return slots_[index]; }
  [[nodiscard]] const stallprof_memory_header& header() const { return *header_; }
  void claim(std::uint32_t pid, std::uint64_t startTicks, std::size_t index = 0);
  // False: no room, counted in `dropped`.
  bool put(std::uint16_t kind, std::uint64_t at, const std::vector<Value>& values,
           std::uint32_t tid = 7, std::size_t index = 0);
  // These bytes as they are, 8-byte aligned.
  void putRaw(const std::string& bytes, std::size_t index = 0);

  static std::string record(std::uint16_t kind, std::uint64_t at, const std::vector<Value>& values,
                            std::uint32_t tid = 7);

 private:
  bool reserve(std::size_t size, std::size_t index);

  stallprof_memory_header* header_ = nullptr;
  stallprof_slot* slots_ = nullptr;
};

}  // namespace stallprof::testing
