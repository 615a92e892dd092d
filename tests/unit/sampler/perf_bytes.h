// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

// Records of a perf ring, byte by byte as linux/perf_event.h lays them out for events with
// sample_type IP | TID | TIME | PERIOD (REGS_USER is up to the test) and sample_id_all.
namespace stallprof::testing {

class PerfBytes {
 public:
  PerfBytes(std::uint32_t type, std::uint16_t misc) {
    add(type);
    add(misc);
    add(std::uint16_t{0});
  }
  template <class T>
  PerfBytes& add(T value) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof value);
    std::memcpy(bytes_.data() + at, &value, sizeof value);
    return *this;
  }
  PerfBytes& text(std::string_view text) {  // with a zero, filled up to 8 bytes
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    do bytes_.push_back(0);
    while (bytes_.size() % 8 != 0);
    return *this;
  }
  PerfBytes& sampleId(std::uint32_t pid, std::uint32_t tid, std::uint64_t time) {
    return add(pid).add(tid).add(time);
  }
  // The whole record, its size in the header.
  [[nodiscard]] std::vector<std::uint8_t> bytes() const {
    std::vector<std::uint8_t> record = bytes_;
    const auto size = static_cast<std::uint16_t>(record.size());
    std::memcpy(record.data() + 6, &size, sizeof size);
    return record;
  }

  static PerfBytes sample(std::uint64_t address, std::uint32_t pid, std::uint32_t tid,
                          std::uint64_t time, bool kernel = false) {
    PerfBytes record(9, kernel ? 1 : 2);
    record.add(address).add(pid).add(tid).add(time).add(std::uint64_t{10'000});
    return record;
  }
  // MMAP2 with a build id of `build`'s bytes, or with device and inode where it is empty.
  static PerfBytes mapping(std::uint32_t pid, std::uint64_t address, std::uint64_t bytes,
                           std::uint64_t offset, std::string_view path,
                           const std::vector<std::uint8_t>& build, std::uint64_t time) {
    PerfBytes record(10, static_cast<std::uint16_t>(2 | (build.empty() ? 0 : 1 << 14)));
    record.add(pid).add(pid).add(address).add(bytes).add(offset);
    if (build.empty()) {
      record.add(std::uint32_t{8}).add(std::uint32_t{1});     // device
      record.add(std::uint64_t{4711}).add(std::uint64_t{0});  // inode, generation
    } else {
      record.add(static_cast<std::uint8_t>(build.size())).add(std::uint8_t{0});
      record.add(std::uint16_t{0});
      for (std::size_t i = 0; i < 20; ++i)
        record.add(static_cast<std::uint8_t>(i < build.size() ? build[i] : 0));
    }
    record.add(std::uint32_t{5}).add(std::uint32_t{2});  // r-x, private
    return record.text(path).sampleId(pid, pid, time);
  }
  static PerfBytes task(std::uint32_t type, std::uint32_t pid, std::uint32_t parent,
                        std::uint32_t tid, std::uint64_t time) {
    PerfBytes record(type, 0);
    record.add(pid).add(parent).add(tid).add(parent + 1).add(time);
    return record.sampleId(pid, tid, time);
  }

 private:
  std::vector<std::uint8_t> bytes_;
};

}  // namespace stallprof::testing
