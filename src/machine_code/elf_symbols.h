// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/elf_file.h"

namespace stallprof {

// What the symbol tables of an ELF file say of places in it. The file is untrusted: every count in
// it is bounded, and what cannot be is as if it were not there. Tables are read in blocks and never
// held, so that a library of a gigabyte costs no memory.
class ElfSymbols {
 public:
  // Nothing where it is no such file.
  [[nodiscard]] static std::optional<ElfSymbols> open(Fd file);

  // Up to `limit` bytes of the file.
  [[nodiscard]] std::string content(std::uint64_t offset, std::size_t limit) const {
    return file_.content(offset, limit);
  }
  // EM_X86_64, ...
  [[nodiscard]] std::uint16_t machine() const { return file_.machine(); }
  // In hex; empty when it has none.
  [[nodiscard]] const std::string& buildId() const { return buildId_; }

  // The functions at these offsets of the file, as the tables spell them; "" where none is known.
  // `offsets` may come in any order. Symbols are taken from `names` where it has some: the file
  // that holds the debugging symbols of this one.
  [[nodiscard]] std::vector<std::string> functionsAt(std::span<const std::uint64_t> offsets,
                                                     const ElfSymbols* names = nullptr) const;

 private:
  struct SymbolTable {
    std::uint64_t offset = 0, bytes = 0, namesOffset = 0, namesBytes = 0;
  };
  // A wanted address, and the best symbol for it so far.
  struct Wanted {
    std::uint64_t address = 0;
    std::size_t index = 0;  // in `offsets`
    std::uint64_t value = 0, size = 0, nameOffset = 0;
    bool found = false, global = false;
  };
  explicit ElfSymbols(ElfFile file);
  void readTables();
  void readBuildId(std::uint64_t offset, std::uint64_t bytes);
  void searchIn(const SymbolTable& table, std::vector<Wanted>& wanted) const;

  ElfFile file_;
  std::vector<SymbolTable> tables_;  // .symtab before .dynsym
  std::string buildId_;
};

}  // namespace stallprof
