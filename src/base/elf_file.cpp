// SPDX-License-Identifier: MIT
#include "base/elf_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace stallprof {
namespace {

// More than any program has; a file that says more is read up to here.
constexpr std::size_t kMaxSegments = 256, kMaxSections = 4096;

}  // namespace

bool ElfFile::read(std::uint64_t offset, void* into, std::size_t bytes) const {
  const auto at = static_cast<off_t>(offset);
  return at >= 0 && ::pread(file_.get(), into, bytes, at) == static_cast<ssize_t>(bytes);
}

std::string ElfFile::content(std::uint64_t offset, std::size_t limit) const {
  std::string bytes(offset < bytes_ ? std::min<std::uint64_t>(limit, bytes_ - offset) : 0, '\0');
  bytes.resize(readAt(file_.get(), bytes.data(), bytes.size(), offset));
  return bytes;
}

std::string ElfFile::text(std::uint64_t offset, std::size_t limit) const {
  std::string bytes(limit, '\0');
  const auto at = static_cast<off_t>(offset);
  const ssize_t got = at < 0 ? -1 : ::pread(file_.get(), bytes.data(), limit, at);
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return bytes.substr(0, bytes.find('\0'));
}

// The entries of a table that the file has whole.
template <class T>
std::vector<T> ElfFile::table(std::uint64_t offset, std::size_t count) const {
  const std::string bytes = content(offset, count * sizeof(T));
  std::vector<T> entries(bytes.size() / sizeof(T));
  if (!entries.empty()) std::memcpy(entries.data(), bytes.data(), entries.size() * sizeof(T));
  return entries;
}

std::optional<ElfFile> ElfFile::open(Fd file) {
  ElfFile elf;
  elf.file_ = std::move(file);
  struct stat status {};
  if (::fstat(elf.file_.get(), &status) != 0 || status.st_size < 0) return std::nullopt;
  elf.bytes_ = static_cast<std::uint64_t>(status.st_size);
  const auto header = elf.get<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
      header->e_phentsize != sizeof(Elf64_Phdr))
    return std::nullopt;
  elf.machine_ = header->e_machine;
  elf.segments_ =
      elf.table<Elf64_Phdr>(header->e_phoff, std::min<std::size_t>(header->e_phnum, kMaxSegments));
  if (header->e_shentsize != sizeof(Elf64_Shdr)) return elf;
  elf.sections_ =
      elf.table<Elf64_Shdr>(header->e_shoff, std::min<std::size_t>(header->e_shnum, kMaxSections));
  if (header->e_shstrndx < elf.sections_.size())
    elf.sectionNames_ = elf.sections_[header->e_shstrndx].sh_offset;
  return elf;
}

std::optional<std::uint64_t> ElfFile::offsetOf(std::uint64_t address) const {
  for (const Elf64_Phdr& s : segments_)
    if (s.p_type == PT_LOAD && address >= s.p_vaddr && address - s.p_vaddr < s.p_filesz)
      return address - s.p_vaddr + s.p_offset;
  return std::nullopt;
}

std::optional<std::uint64_t> ElfFile::addressOf(std::uint64_t offset) const {
  for (const Elf64_Phdr& s : segments_)
    if (s.p_type == PT_LOAD && offset >= s.p_offset && offset - s.p_offset < s.p_filesz)
      return offset - s.p_offset + s.p_vaddr;
  return std::nullopt;
}

}  // namespace stallprof
