// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/elf_file.h"

namespace stallprof::python {

// What the recorder needs of an ELF file for x86-64: symbols and functions by name, sections by
// name, and where its bytes are mapped. The file is untrusted; every count in it is bounded, and
// only the parts asked for are read.
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
  // Where in the file the functions lie whose names begin so and do not hold `without`, of the
  // symbols that the linker needed: in order, at most kMaxFunctions.
  static constexpr std::size_t kMaxFunctions = 1u << 16;
  [[nodiscard]] std::vector<Extent> functions(std::span<const std::string_view> begins,
                                              std::string_view without) const;
  [[nodiscard]] std::optional<std::uint64_t> section(std::string_view name) const;
  // DT_SONAME; empty when it has none.
  [[nodiscard]] std::string soname() const;
  // What to add to the file's addresses, from a mapping of the file.
  [[nodiscard]] std::optional<std::uint64_t> bias(std::uint64_t start, std::uint64_t offset) const;
  // The file's first `limit` bytes.
  [[nodiscard]] std::string head(std::size_t limit) const { return file_.content(0, limit); }

 private:
  explicit ElfImage(ElfFile file) : file_(std::move(file)) {}
  void readDynamic(const Elf64_Phdr& dynamic);
  [[nodiscard]] std::optional<Extent> valueOf(std::uint64_t index, std::string_view name) const;
  [[nodiscard]] std::optional<Extent> byGnuHash(std::string_view name) const;
  [[nodiscard]] std::optional<Extent> byOldHash(std::string_view name) const;
  // Of each defined symbol, with its name and what follows it, until one is what is wanted: true.
  using Visit = std::function<bool(const Elf64_Sym&, std::string_view)>;
  bool walk(const Visit& wanted) const;
  bool walkTable(const Elf64_Shdr& table, const Elf64_Shdr& names, const Visit& wanted) const;

  ElfFile file_;
  std::uint64_t symbols_ = 0, strings_ = 0, gnuHash_ = 0, oldHash_ = 0, soname_ = 0;  // in the file
};

}  // namespace stallprof::python
