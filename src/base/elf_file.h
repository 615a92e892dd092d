// SPDX-License-Identifier: MIT
#pragma once

#include <elf.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"

namespace stallprof {

// The headers and bytes of an ELF file (64 bit, little-endian). The file is untrusted: headers are
// read up to bounds that no program reaches, what lies behind the file's end is not there, and
// nothing else is held in memory. Not synchronized; const functions may be called from any thread.
class ElfFile {
 public:
  // Nothing where it is no such file.
  [[nodiscard]] static std::optional<ElfFile> open(Fd file);

  // EM_X86_64, ...
  [[nodiscard]] std::uint16_t machine() const { return machine_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] const std::vector<Elf64_Phdr>& segments() const { return segments_; }
  [[nodiscard]] const std::vector<Elf64_Shdr>& sections() const { return sections_; }
  // Where in the file the names of sections begin; 0: nowhere.
  [[nodiscard]] std::uint64_t sectionNames() const { return sectionNames_; }

  // All `bytes` at `offset` of the file, or false.
  [[nodiscard]] bool read(std::uint64_t offset, void* into, std::size_t bytes) const;
  template <class T>
  [[nodiscard]] std::optional<T> get(std::uint64_t offset) const {
    T value{};
    return read(offset, &value, sizeof value) ? std::optional<T>(value) : std::nullopt;
  }
  // The text at `offset`, up to its zero, its `limit` or the file's end.
  [[nodiscard]] std::string text(std::uint64_t offset, std::size_t limit) const;
  // What the file has of these bytes.
  [[nodiscard]] std::string content(std::uint64_t offset, std::size_t limit) const;

  // Between offsets in the file and the addresses that it counts in, by its loaded segments.
  [[nodiscard]] std::optional<std::uint64_t> offsetOf(std::uint64_t address) const;
  [[nodiscard]] std::optional<std::uint64_t> addressOf(std::uint64_t offset) const;

 private:
  template <class T>
  [[nodiscard]] std::vector<T> table(std::uint64_t offset, std::size_t count) const;

  Fd file_;
  std::uint64_t bytes_ = 0;
  std::uint16_t machine_ = 0;
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Shdr> sections_;
  std::uint64_t sectionNames_ = 0;
};

}  // namespace stallprof
