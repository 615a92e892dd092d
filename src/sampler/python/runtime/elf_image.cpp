// SPDX-License-Identifier: MIT
#include "sampler/python/runtime/elf_image.h"

#include <algorithm>
#include <vector>

namespace stallprof::python {
namespace {

// More than any program has; a file that says more is not believed.
constexpr std::size_t kMaxDynamic = 4096;
constexpr std::size_t kMaxChain = 1u << 16;      // symbols read for one name, by hash
constexpr std::uint64_t kMaxSymbols = 1u << 20;  // one by one: 24 MB, a second of libtorch's size
constexpr std::uint64_t kMaxNames = 64u << 20;   // bytes of their names
constexpr std::size_t kLongestName = 4096;       // of a symbol
constexpr std::string_view kEnd{"\0", 1};        // of a name
constexpr int kMaxTables = 4;                    // of them; a file has one
constexpr std::uint64_t kPage = 4096;

std::uint32_t gnuHash(std::string_view name) {
  std::uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
  return hash;
}

std::uint32_t sysvHash(std::string_view name) {
  std::uint32_t hash = 0;
  for (const char c : name) {
    hash = (hash << 4) + static_cast<unsigned char>(c);
    const std::uint32_t high = hash & 0xf0000000u;
    hash = (hash ^ (high >> 24)) & ~high;
  }
  return hash;
}

}  // namespace

std::optional<ElfImage> ElfImage::open(Fd file) {
  auto elf = ElfFile::open(std::move(file));
  if (!elf || elf->machine() != EM_X86_64) return std::nullopt;
  ElfImage image(std::move(*elf));
  Elf64_Phdr dynamic{};
  for (const Elf64_Phdr& segment : image.file_.segments())
    if (segment.p_type == PT_DYNAMIC) dynamic = segment;
  image.readDynamic(dynamic);
  return image;
}

void ElfImage::readDynamic(const Elf64_Phdr& dynamic) {
  const std::size_t count =
      std::min<std::uint64_t>(dynamic.p_filesz / sizeof(Elf64_Dyn), kMaxDynamic);
  std::uint64_t soname = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto entry = file_.get<Elf64_Dyn>(dynamic.p_offset + i * sizeof(Elf64_Dyn));
    if (!entry || entry->d_tag == DT_NULL) break;
    const auto where = [&] { return file_.offsetOf(entry->d_un.d_ptr).value_or(0); };
    if (entry->d_tag == DT_SYMTAB) symbols_ = where();
    if (entry->d_tag == DT_STRTAB) strings_ = where();
    if (entry->d_tag == DT_GNU_HASH) gnuHash_ = where();
    if (entry->d_tag == DT_HASH) oldHash_ = where();
    if (entry->d_tag == DT_SONAME) soname = entry->d_un.d_val;
  }
  if (soname != 0 && strings_ != 0) soname_ = strings_ + soname;
}

std::optional<std::uint64_t> ElfImage::bias(std::uint64_t start, std::uint64_t offset) const {
  for (const Elf64_Phdr& s : file_.segments()) {
    const std::uint64_t begin = s.p_offset & ~(kPage - 1), end = s.p_offset + s.p_filesz;
    if (s.p_type != PT_LOAD || offset < begin || offset >= end) continue;
    return start - ((s.p_vaddr & ~(kPage - 1)) + (offset - begin));
  }
  return std::nullopt;
}

std::string ElfImage::soname() const {
  return soname_ == 0 ? std::string() : file_.text(soname_, 256);
}

std::optional<std::uint64_t> ElfImage::section(std::string_view name) const {
  for (const Elf64_Shdr& s : file_.sections())
    if (s.sh_addr != 0 && file_.text(file_.sectionNames() + s.sh_name, name.size() + 1) == name)
      return s.sh_addr;
  return std::nullopt;
}

std::optional<std::uint64_t> ElfImage::symbol(std::string_view name, bool all) const {
  if (const auto found = extent(name)) return found->address;
  if (!all) return std::nullopt;
  std::optional<std::uint64_t> address;
  walk([&](const Elf64_Sym& symbol, std::string_view of) {
    if (of.starts_with(name) && of.substr(name.size(), 1) == kEnd) address = symbol.st_value;
    return address.has_value();
  });
  return address;
}

std::optional<ElfImage::Extent> ElfImage::extent(std::string_view name) const {
  if (symbols_ == 0 || strings_ == 0) return std::nullopt;
  if (gnuHash_ != 0) return byGnuHash(name);
  return oldHash_ != 0 ? byOldHash(name) : std::nullopt;
}

std::optional<ElfImage::Extent> ElfImage::valueOf(std::uint64_t index,
                                                  std::string_view name) const {
  const auto symbol = file_.get<Elf64_Sym>(symbols_ + index * sizeof(Elf64_Sym));
  if (!symbol || symbol->st_shndx == SHN_UNDEF) return std::nullopt;
  if (file_.text(strings_ + symbol->st_name, name.size() + 1) != name) return std::nullopt;
  return Extent{symbol->st_value, symbol->st_size};
}

std::optional<ElfImage::Extent> ElfImage::byGnuHash(std::string_view name) const {
  struct Header {
    std::uint32_t buckets, firstSymbol, bloomWords, bloomShift;
  };
  const auto header = file_.get<Header>(gnuHash_);
  if (!header || header->buckets == 0) return std::nullopt;
  const std::uint32_t hash = gnuHash(name);
  const std::uint64_t buckets = gnuHash_ + sizeof(Header) + std::uint64_t{header->bloomWords} * 8;
  const auto first = file_.get<std::uint32_t>(buckets + std::uint64_t{hash % header->buckets} * 4);
  if (!first || *first < header->firstSymbol) return std::nullopt;
  const std::uint64_t chains = buckets + std::uint64_t{header->buckets} * 4;
  for (std::uint64_t i = 0, index = *first; i < kMaxChain; ++i, ++index) {
    const auto link = file_.get<std::uint32_t>(chains + (index - header->firstSymbol) * 4);
    if (!link) return std::nullopt;
    if ((*link | 1u) == (hash | 1u))
      if (const auto value = valueOf(index, name)) return value;
    if ((*link & 1u) != 0) return std::nullopt;
  }
  return std::nullopt;
}

std::optional<ElfImage::Extent> ElfImage::byOldHash(std::string_view name) const {
  const auto buckets = file_.get<std::uint32_t>(oldHash_),
             chains = file_.get<std::uint32_t>(oldHash_ + 4);
  if (!buckets || !chains || *buckets == 0) return std::nullopt;
  auto index =
      file_.get<std::uint32_t>(oldHash_ + 8 + std::uint64_t{sysvHash(name) % *buckets} * 4);
  for (std::size_t i = 0; index && *index != 0 && *index < *chains && i < kMaxChain; ++i) {
    if (const auto value = valueOf(*index, name)) return value;
    index = file_.get<std::uint32_t>(oldHash_ + 8 + (std::uint64_t{*buckets} + *index) * 4);
  }
  return std::nullopt;
}

// In one table of symbols, whose names are in `names`.
bool ElfImage::walkTable(const Elf64_Shdr& table, const Elf64_Shdr& names,
                         const Visit& wanted) const {
  constexpr std::size_t kAtOnce = 4096;
  // A table that says it is larger than its file must cost nothing.
  const std::uint64_t limit = std::min(file_.bytes() / sizeof(Elf64_Sym), kMaxSymbols);
  const std::uint64_t count = std::min(table.sh_size / sizeof(Elf64_Sym), limit);
  std::string strings(std::min(names.sh_size, kMaxNames), '\0');
  if (!file_.read(names.sh_offset, strings.data(), strings.size())) return false;
  std::vector<Elf64_Sym> block(std::min<std::uint64_t>(kAtOnce, count));
  for (std::uint64_t i = 0; i < count; i += kAtOnce) {
    const std::size_t now = std::min<std::uint64_t>(kAtOnce, count - i);
    if (!file_.read(table.sh_offset + i * sizeof(Elf64_Sym), block.data(), now * sizeof(Elf64_Sym)))
      return false;
    for (const Elf64_Sym& symbol : std::span(block).first(now))
      if (symbol.st_shndx != SHN_UNDEF && symbol.st_name < strings.size() &&
          wanted(symbol, std::string_view(strings).substr(symbol.st_name, kLongestName)))
        return true;
  }
  return false;
}

bool ElfImage::walk(const Visit& wanted) const {
  const auto& sections = file_.sections();
  int tables = 0;
  for (const Elf64_Shdr& s : sections) {
    if (s.sh_type != SHT_SYMTAB || s.sh_link >= sections.size()) continue;
    const Elf64_Shdr& names = sections[s.sh_link];
    if (names.sh_size > file_.bytes() || ++tables > kMaxTables) continue;
    if (walkTable(s, names, wanted)) return true;
  }
  return false;
}

std::vector<ElfImage::Extent> ElfImage::functions(std::span<const std::string_view> begins,
                                                  std::string_view without) const {
  std::vector<Extent> found;
  walk([&](const Elf64_Sym& symbol, std::string_view name) {
    bool wanted = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_size > 0 &&
                  std::any_of(begins.begin(), begins.end(),
                              [&](std::string_view begin) { return name.starts_with(begin); });
    wanted = wanted && name.substr(0, name.find(kEnd)).find(without) == std::string_view::npos;
    if (!wanted) return false;
    if (const auto offset = file_.offsetOf(symbol.st_value))
      found.push_back({*offset, symbol.st_size});
    return found.size() >= kMaxFunctions;
  });
  std::sort(found.begin(), found.end(),
            [](const Extent& a, const Extent& b) { return a.address < b.address; });
  return found;
}

}  // namespace stallprof::python
