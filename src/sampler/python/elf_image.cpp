// SPDX-License-Identifier: MIT
#include "sampler/python/elf_image.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace stallprof::python {
namespace {

// More than any program has; a file that says more is not believed.
constexpr std::size_t kMostSegments = 256, kMostSections = 4096, kMostDynamic = 4096;
constexpr std::size_t kMostChain = 1u << 16;      // symbols looked at for one name, by hash
constexpr std::uint64_t kMostSymbols = 1u << 20;  // one by one: 24 MB, a second of libtorch's size
constexpr std::uint64_t kMostNames = 64u << 20;   // bytes of their names
constexpr int kMostTables = 4;                    // of them; a file has one
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

bool ElfImage::read(std::uint64_t offset, void* into, std::size_t bytes) const {
  const auto at = static_cast<off_t>(offset);
  return at >= 0 && ::pread(file_.get(), into, bytes, at) == static_cast<ssize_t>(bytes);
}

template <class T>
std::optional<T> ElfImage::get(std::uint64_t offset) const {
  T value{};
  return read(offset, &value, sizeof value) ? std::optional<T>(value) : std::nullopt;
}

std::string ElfImage::text(std::uint64_t offset, std::size_t limit) const {
  std::string bytes(limit, '\0');
  const auto at = static_cast<off_t>(offset);
  const ssize_t got = at < 0 ? -1 : ::pread(file_.get(), bytes.data(), limit, at);
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return bytes.substr(0, bytes.find('\0'));
}

std::string ElfImage::head(std::size_t limit) const {
  limit = std::min<std::uint64_t>(limit, bytes_);
  std::string bytes(limit, '\0');
  std::size_t have = 0;
  while (have < limit) {
    const ssize_t got =
        ::pread(file_.get(), bytes.data() + have, limit - have, static_cast<off_t>(have));
    if (got <= 0) break;
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

std::optional<ElfImage> ElfImage::open(Fd file) {
  ElfImage image;
  image.file_ = std::move(file);
  struct stat status {};
  if (::fstat(image.file_.get(), &status) != 0 || status.st_size < 0) return std::nullopt;
  image.bytes_ = static_cast<std::uint64_t>(status.st_size);
  const auto header = image.get<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
      header->e_machine != EM_X86_64 || header->e_phentsize != sizeof(Elf64_Phdr))
    return std::nullopt;
  Segment dynamic;
  for (std::size_t i = 0; i < std::min<std::size_t>(header->e_phnum, kMostSegments); ++i) {
    const auto segment = image.get<Elf64_Phdr>(header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) break;
    const Segment found{segment->p_offset, segment->p_vaddr, segment->p_filesz};
    if (segment->p_type == PT_LOAD) image.segments_.push_back(found);
    if (segment->p_type == PT_DYNAMIC) dynamic = found;
  }
  image.readDynamic(dynamic);
  if (header->e_shentsize == sizeof(Elf64_Shdr))
    image.readSections(header->e_shoff, header->e_shnum, header->e_shstrndx);
  return image;
}

void ElfImage::readDynamic(const Segment& dynamic) {
  const std::size_t count =
      std::min<std::uint64_t>(dynamic.bytes / sizeof(Elf64_Dyn), kMostDynamic);
  std::uint64_t soname = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto entry = get<Elf64_Dyn>(dynamic.offset + i * sizeof(Elf64_Dyn));
    if (!entry || entry->d_tag == DT_NULL) break;
    const auto where = [&] { return offsetOf(entry->d_un.d_ptr).value_or(0); };
    if (entry->d_tag == DT_SYMTAB) symbols_ = where();
    if (entry->d_tag == DT_STRTAB) strings_ = where();
    if (entry->d_tag == DT_GNU_HASH) gnuHash_ = where();
    if (entry->d_tag == DT_HASH) oldHash_ = where();
    if (entry->d_tag == DT_SONAME) soname = entry->d_un.d_val;
  }
  if (soname != 0 && strings_ != 0) soname_ = strings_ + soname;
}

void ElfImage::readSections(std::uint64_t offset, std::uint16_t count, std::uint16_t names) {
  for (std::size_t i = 0; i < std::min<std::size_t>(count, kMostSections); ++i) {
    const auto s = get<Elf64_Shdr>(offset + i * sizeof(Elf64_Shdr));
    if (!s) break;
    sections_.push_back({s->sh_name, s->sh_type, s->sh_link, s->sh_addr, s->sh_offset, s->sh_size});
  }
  if (names < sections_.size()) sectionNames_ = sections_[names].offset;
}

std::optional<std::uint64_t> ElfImage::offsetOf(std::uint64_t address) const {
  for (const Segment& s : segments_)
    if (address >= s.address && address - s.address < s.bytes)
      return address - s.address + s.offset;
  return std::nullopt;
}

std::optional<std::uint64_t> ElfImage::bias(std::uint64_t start, std::uint64_t offset) const {
  for (const Segment& s : segments_) {
    const std::uint64_t begin = s.offset & ~(kPage - 1), end = s.offset + s.bytes;
    if (offset < begin || offset >= end) continue;
    return start - ((s.address & ~(kPage - 1)) + (offset - begin));
  }
  return std::nullopt;
}

std::string ElfImage::soname() const { return soname_ == 0 ? std::string() : text(soname_, 256); }

std::optional<std::uint64_t> ElfImage::section(std::string_view name) const {
  for (const Section& s : sections_)
    if (s.address != 0 && text(sectionNames_ + s.name, name.size() + 1) == name) return s.address;
  return std::nullopt;
}

std::optional<std::uint64_t> ElfImage::symbol(std::string_view name, bool all) const {
  if (const auto found = extent(name)) return found->address;
  return all ? byWalk(name) : std::nullopt;
}

std::optional<ElfImage::Extent> ElfImage::extent(std::string_view name) const {
  if (symbols_ == 0 || strings_ == 0) return std::nullopt;
  if (gnuHash_ != 0) return byGnuHash(name);
  return oldHash_ != 0 ? byOldHash(name) : std::nullopt;
}

std::optional<ElfImage::Extent> ElfImage::valueOf(std::uint64_t index,
                                                  std::string_view name) const {
  const auto symbol = get<Elf64_Sym>(symbols_ + index * sizeof(Elf64_Sym));
  if (!symbol || symbol->st_shndx == SHN_UNDEF) return std::nullopt;
  if (text(strings_ + symbol->st_name, name.size() + 1) != name) return std::nullopt;
  return Extent{symbol->st_value, symbol->st_size};
}

std::optional<ElfImage::Extent> ElfImage::byGnuHash(std::string_view name) const {
  struct Header {
    std::uint32_t buckets, firstSymbol, bloomWords, bloomShift;
  };
  const auto header = get<Header>(gnuHash_);
  if (!header || header->buckets == 0) return std::nullopt;
  const std::uint32_t hash = gnuHash(name);
  const std::uint64_t buckets = gnuHash_ + sizeof(Header) + std::uint64_t{header->bloomWords} * 8;
  const auto first = get<std::uint32_t>(buckets + std::uint64_t{hash % header->buckets} * 4);
  if (!first || *first < header->firstSymbol) return std::nullopt;
  const std::uint64_t chains = buckets + std::uint64_t{header->buckets} * 4;
  for (std::uint64_t i = 0, index = *first; i < kMostChain; ++i, ++index) {
    const auto link = get<std::uint32_t>(chains + (index - header->firstSymbol) * 4);
    if (!link) return std::nullopt;
    if ((*link | 1u) == (hash | 1u))
      if (const auto value = valueOf(index, name)) return value;
    if ((*link & 1u) != 0) return std::nullopt;
  }
  return std::nullopt;
}

std::optional<ElfImage::Extent> ElfImage::byOldHash(std::string_view name) const {
  const auto buckets = get<std::uint32_t>(oldHash_), chains = get<std::uint32_t>(oldHash_ + 4);
  if (!buckets || !chains || *buckets == 0) return std::nullopt;
  auto index = get<std::uint32_t>(oldHash_ + 8 + std::uint64_t{sysvHash(name) % *buckets} * 4);
  for (std::size_t i = 0; index && *index != 0 && *index < *chains && i < kMostChain; ++i) {
    if (const auto value = valueOf(*index, name)) return value;
    index = get<std::uint32_t>(oldHash_ + 8 + (std::uint64_t{*buckets} + *index) * 4);
  }
  return std::nullopt;
}

std::optional<std::uint64_t> ElfImage::byWalk(std::string_view name) const {
  constexpr std::size_t kAtOnce = 4096;
  const std::uint64_t most = std::min(bytes_ / sizeof(Elf64_Sym), kMostSymbols);
  std::vector<Elf64_Sym> block(std::min<std::uint64_t>(kAtOnce, most));
  int tables = 0;
  for (const Section& s : sections_) {
    if (s.type != SHT_SYMTAB || s.link >= sections_.size()) continue;
    const Section& names = sections_[s.link];
    const std::uint64_t count = std::min(s.bytes / sizeof(Elf64_Sym), most);
    // A table that says it is larger than its file must cost nothing.
    if (names.bytes > bytes_ || ++tables > kMostTables) continue;
    std::string strings(std::min(names.bytes, kMostNames), '\0');
    if (!read(names.offset, strings.data(), strings.size())) continue;
    for (std::uint64_t i = 0; i < count; i += kAtOnce) {
      const std::size_t now = std::min<std::uint64_t>(kAtOnce, count - i);
      if (!read(s.offset + i * sizeof(Elf64_Sym), block.data(), now * sizeof(Elf64_Sym))) break;
      for (std::size_t k = 0; k < now; ++k) {
        const Elf64_Sym& symbol = block[k];
        if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= strings.size()) continue;
        if (std::string_view(strings).substr(symbol.st_name, name.size()) == name &&
            strings.c_str()[symbol.st_name + name.size()] == '\0')
          return symbol.st_value;
      }
    }
  }
  return std::nullopt;
}

}  // namespace stallprof::python
