// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace stallprof::python {

// What locating an interpreter needs of an ELF file (64 bit, little-endian, x86-64): symbols by
// name, sections by name, and where its bytes are mapped. The file is untrusted; every count in it
// is bounded, and only the parts asked for are read.
class ElfImage {
 public:
  // Nothing where it is no such file.
  [[nodiscard]] static std::optional<ElfImage> open(Fd file);

  // Address of a defined symbol as the file counts (add the bias). Dynamic symbols, by hash; with
  // `all`, those that only the linker needed too, one by one.
  [[nodiscard]] std::optional<std::uint64_t> symbol(std::string_view name, bool all) const;
  // The same of a dynamic symbol, with its size: where a function begins and ends.
  struct Extent {
    std::uint64_t address = 0, bytes = 0;
  };
  [[nodiscard]] std::optional<Extent> extent(std::string_view name) const;
  [[nodiscard]] std::optional<std::uint64_t> section(std::string_view name) const;
  // DT_SONAME; empty when it has none.
  [[nodiscard]] std::string soname() const;
  // What to add to the file's addresses, from a mapping of the file.
  [[nodiscard]] std::optional<std::uint64_t> bias(std::uint64_t start, std::uint64_t offset) const;
  // The file's first `limit` bytes.
  [[nodiscard]] std::string head(std::size_t limit) const;

 private:
  struct Segment {
    std::uint64_t offset = 0, address = 0, bytes = 0;
  };
  struct Section {
    std::uint32_t name = 0, type = 0, link = 0;
    std::uint64_t address = 0, offset = 0, bytes = 0;
  };
  [[nodiscard]] bool read(std::uint64_t offset, void* into, std::size_t bytes) const;
  template <class T>
  [[nodiscard]] std::optional<T> get(std::uint64_t offset) const;
  [[nodiscard]] std::string text(std::uint64_t offset, std::size_t limit) const;
  [[nodiscard]] std::optional<std::uint64_t> offsetOf(std::uint64_t address) const;
  void readDynamic(const Segment& dynamic);
  void readSections(std::uint64_t offset, std::uint16_t count, std::uint16_t names);
  [[nodiscard]] std::optional<Extent> valueOf(std::uint64_t index, std::string_view name) const;
  [[nodiscard]] std::optional<Extent> byGnuHash(std::string_view name) const;
  [[nodiscard]] std::optional<Extent> byOldHash(std::string_view name) const;
  [[nodiscard]] std::optional<std::uint64_t> byWalk(std::string_view name) const;

  Fd file_;
  std::uint64_t bytes_ = 0;  // of the file
  std::vector<Segment> segments_;
  std::vector<Section> sections_;
  std::uint64_t sectionNames_ = 0;  // offset in the file
  std::uint64_t symbols_ = 0, strings_ = 0, gnuHash_ = 0, oldHash_ = 0, soname_ = 0;  // in the file
};

}  // namespace stallprof::python
