// SPDX-License-Identifier: MIT
#include "machine_code/elf_symbols.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <tuple>
#include <utility>

#include "base/text.h"

namespace stallprof {
namespace {

// More than any library has; a file that says more is not believed. libtorch_cpu.so has 600,000
// symbols with names of up to 3,000 bytes.
constexpr std::uint64_t kMaxSymbols = 4u << 20;
// A file has one of each kind; each costs a walk over all its symbols.
constexpr std::size_t kMaxTables = 4;
constexpr std::size_t kLongestName = 4096, kMaxNotes = 64u << 10, kMaxBuildId = 64;
// A symbol that covers more than this is not of a function.
constexpr std::uint64_t kLongestFunction = 16u << 20;
// Functions written in assembly may have no size: they end somewhere near.
constexpr std::uint64_t kUnsized = 4096;
// Comparisons with wanted addresses: a forged table may say that each symbol covers all of them.
constexpr std::uint64_t kMaxWork = 50'000'000;

bool isFunction(const Elf64_Sym& symbol) {
  const unsigned type = ELF64_ST_TYPE(symbol.st_info);
  return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol.st_shndx != SHN_UNDEF &&
         symbol.st_value != 0 && symbol.st_size <= kLongestFunction;
}

constexpr std::uint64_t aligned4(std::uint64_t n) { return (n + 3) & ~std::uint64_t{3}; }

}  // namespace

std::optional<ElfSymbols> ElfSymbols::open(Fd file) {
  auto elf = ElfFile::open(std::move(file));
  if (!elf) return std::nullopt;
  return ElfSymbols(std::move(*elf));
}

ElfSymbols::ElfSymbols(ElfFile file) : file_(std::move(file)) {
  for (const Elf64_Phdr& segment : file_.segments())
    if (segment.p_type == PT_NOTE && buildId_.empty())
      readBuildId(segment.p_offset, segment.p_filesz);
  readTables();
}

void ElfSymbols::readTables() {
  const auto& sections = file_.sections();
  for (const auto type : {std::uint32_t{SHT_SYMTAB}, std::uint32_t{SHT_DYNSYM}})
    for (const Elf64_Shdr& section : sections) {
      if (section.sh_type != type || section.sh_link >= sections.size()) continue;
      if (tables_.size() >= kMaxTables) return;
      const Elf64_Shdr& names = sections[section.sh_link];
      tables_.push_back({section.sh_offset, section.sh_size, names.sh_offset, names.sh_size});
    }
}

void ElfSymbols::readBuildId(std::uint64_t offset, std::uint64_t bytes) {
  std::vector<std::uint8_t> notes(std::min<std::uint64_t>(bytes, kMaxNotes));
  if (!file_.read(offset, notes.data(), notes.size())) return;
  for (std::uint64_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
    Elf64_Nhdr note;
    std::memcpy(&note, notes.data() + at, sizeof note);
    const std::uint64_t name = at + sizeof note, text = name + aligned4(note.n_namesz),
                        next = text + aligned4(note.n_descsz);
    if (next > notes.size()) return;
    const bool gnu = note.n_namesz == 4 && std::memcmp(notes.data() + name, "GNU", 4) == 0;
    if (gnu && note.n_type == NT_GNU_BUILD_ID && note.n_descsz <= kMaxBuildId) {
      buildId_ = hexOf(std::span(notes).subspan(text, note.n_descsz));
      return;
    }
    at = next;
  }
}

// Sets for each wanted address the symbol that begins nearest before it and covers it. Of several
// names of one function the global one is what people call it.
void ElfSymbols::searchIn(const SymbolTable& table, std::vector<Wanted>& wanted) const {
  constexpr std::size_t kAtOnce = 4096;
  const std::uint64_t count = std::min(table.bytes / sizeof(Elf64_Sym), kMaxSymbols);
  std::vector<Elf64_Sym> block(std::min<std::uint64_t>(kAtOnce, count));
  std::uint64_t work = 0;
  for (std::uint64_t i = 0; i < count && work < kMaxWork; i += kAtOnce) {
    const std::size_t some = std::min<std::uint64_t>(kAtOnce, count - i);
    if (!file_.read(table.offset + i * sizeof(Elf64_Sym), block.data(), some * sizeof(Elf64_Sym)))
      return;
    for (const Elf64_Sym& symbol : std::span(block).first(some)) {
      if (!isFunction(symbol) || symbol.st_name >= table.namesBytes) continue;
      const std::uint64_t reach = symbol.st_size > 0 ? symbol.st_size : kUnsized;
      const bool global = ELF64_ST_BIND(symbol.st_info) == STB_GLOBAL;
      auto at = std::partition_point(wanted.begin(), wanted.end(),
                                     [&](const Wanted& w) { return w.address < symbol.st_value; });
      for (; at != wanted.end() && at->address - symbol.st_value < reach; ++at) {
        if (++work >= kMaxWork) return;
        // A symbol with a size beats one without, which may have ended before.
        const auto rank = [](std::uint64_t size, std::uint64_t value, bool known) {
          return std::tuple(size > 0, value, known);
        };
        if (at->found &&
            rank(symbol.st_size, symbol.st_value, global) <= rank(at->size, at->value, at->global))
          continue;
        at->found = true;
        at->global = global;
        at->value = symbol.st_value;
        at->size = symbol.st_size;
        at->nameOffset = table.namesOffset + symbol.st_name;
      }
    }
  }
}

std::vector<std::string> ElfSymbols::functionsAt(std::span<const std::uint64_t> offsets,
                                                 const ElfSymbols* names) const {
  std::vector<Wanted> wanted;
  for (std::size_t i = 0; i < offsets.size(); ++i)
    if (const auto address = file_.addressOf(offsets[i])) wanted.push_back({*address, i});
  std::sort(wanted.begin(), wanted.end(),
            [](const Wanted& a, const Wanted& b) { return a.address < b.address; });
  std::vector<std::string> functions(offsets.size());
  for (const ElfSymbols* file : {names, this}) {
    if (file == nullptr) continue;
    for (const SymbolTable& table : file->tables_) file->searchIn(table, wanted);
    for (Wanted& w : wanted)
      if (w.found) functions[w.index] = file->file_.text(w.nameOffset, kLongestName);
    std::erase_if(wanted, [](const Wanted& w) { return w.found; });
  }
  return functions;
}

}  // namespace stallprof
