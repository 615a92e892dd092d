// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "recording/cupti/activity_records.h"
#include "recording/memory/activity_memory.h"

namespace stallprof::testing {

// Records as CUPTI of one version writes them, one after the other: its sizes, every byte that we
// do not know of set to something.
class CuptiBytes {
 public:
  explicit CuptiBytes(std::uint32_t version) : version_(version) {}

  struct Times {
    std::uint64_t start, end;
  };
  CuptiBytes& kernel(Times when, std::uint64_t name, std::uint32_t stream = 7,
                     std::uint32_t device = 0, std::uint32_t correlation = 1,
                     std::uint32_t blocks = 66);
  // Kinds as CUPTI numbers them: 1 host to device, 2 device to host; 1 pageable, 2 pinned.
  CuptiBytes& copy(Times when, std::uint64_t bytes, std::uint8_t kind, std::uint8_t hostMemory,
                   std::uint32_t device = 0);
  CuptiBytes& peerCopy(Times when, std::uint64_t bytes, std::uint32_t device = 0);
  CuptiBytes& set(Times when, std::uint64_t bytes, std::uint32_t device = 0);
  CuptiBytes& call(Times when, std::uint32_t cbid, std::uint32_t thread, bool driver = false,
                   std::uint32_t correlation = 1);
  CuptiBytes& sync(Times when, std::uint32_t type);
  CuptiBytes& graph(Times when, std::uint32_t device = 0);
  CuptiBytes& overhead(Times when, std::uint32_t kind, std::uint32_t thread);
  CuptiBytes& device(std::uint32_t ordinal, std::uint64_t name, std::uint8_t uuidByte,
                     bool mig = false);
  CuptiBytes& raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] std::uint32_t version() const { return version_; }
  // As the headers of that version have it.
  static std::uint32_t sizeOf(std::uint32_t kind, std::uint32_t version);

 private:
  std::uint8_t* add(std::uint32_t kind);
  std::uint32_t version_;
  std::string bytes_;
};

// The agent's side of the activity memory as activity_memory.h describes it, and ways to break it.
class AreaWriter {
 public:
  explicit AreaWriter(const std::string& path);
  AreaWriter(const AreaWriter&) = delete;
  AreaWriter& operator=(const AreaWriter&) = delete;
  ~AreaWriter();

  [[nodiscard]] stallprof_activity_header& header() { return *header_; }
  [[nodiscard]] stallprof_activity_area& area(std::size_t index = 0) { return areas_[index]; }

  void claim(std::uint32_t pid, std::uint64_t startTicks, std::uint32_t version = 130000,
             std::size_t index = 0);
  void pair(std::uint64_t monotonic, std::uint64_t device, std::size_t index = 0);
  void turn(std::uint64_t monotonic, std::uint32_t on, std::size_t index = 0);
  std::uint32_t name(std::uint64_t pointer, std::string_view text, std::size_t index = 0);
  // Into the first free buffer; the strides are learned from it.
  std::size_t full(const CuptiBytes& records, std::size_t index = 0);
  std::size_t taken(const CuptiBytes& records, std::size_t index = 0);
  void flushed(std::uint64_t monotonic, std::size_t index = 0) { area(index).flushed = monotonic; }

 private:
  std::size_t put(const CuptiBytes& records, std::uint32_t state, std::size_t index);
  stallprof_activity_header* header_ = nullptr;
  stallprof_activity_area* areas_ = nullptr;
};

}  // namespace stallprof::testing
