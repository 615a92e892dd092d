// SPDX-License-Identifier: MIT
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

// ELF files of a few hundred bytes, built as a linker would lay them out.
namespace stallprof::testing {

class SmallElf {
 public:
  // Code of `bytes` at `offset` in the file, at `address` in memory.
  SmallElf& load(std::uint64_t offset, std::uint64_t address, std::uint64_t bytes) {
    Elf64_Phdr segment{};
    segment.p_type = PT_LOAD;
    segment.p_flags = PF_R | PF_X;
    segment.p_offset = offset;
    segment.p_vaddr = address;
    segment.p_filesz = segment.p_memsz = bytes;
    segments_.push_back(segment);
    return *this;
  }
  SmallElf& buildId(const std::string& bytes) {
    buildId_ = bytes;
    return *this;
  }
  SmallElf& symbol(const std::string& name, std::uint64_t address, std::uint64_t size,
                   unsigned char binding = STB_GLOBAL, unsigned char type = STT_FUNC) {
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<Elf64_Word>(names_.size());
    symbol.st_info = static_cast<unsigned char>(ELF64_ST_INFO(binding, type));
    symbol.st_shndx = 1;
    symbol.st_value = address;
    symbol.st_size = size;
    symbols_.push_back(symbol);
    names_ += name + '\0';
    return *this;
  }
  [[nodiscard]] Elf64_Sym& lastSymbol() { return symbols_.back(); }

  // SHT_SYMTAB or SHT_DYNSYM.
  [[nodiscard]] std::string bytes(std::uint32_t table = SHT_SYMTAB) const {
    std::string note;
    if (!buildId_.empty()) {
      const Elf64_Nhdr header{4, static_cast<Elf64_Word>(buildId_.size()), NT_GNU_BUILD_ID};
      note.append(reinterpret_cast<const char*>(&header), sizeof header).append("GNU\0", 4);
      note += buildId_ + std::string((4 - buildId_.size() % 4) % 4, '\0');
    }
    std::vector<Elf64_Phdr> segments = segments_;
    const std::size_t noteAt = sizeof(Elf64_Ehdr) + (segments.size() + 1) * sizeof(Elf64_Phdr);
    Elf64_Phdr notes{};
    notes.p_type = PT_NOTE;
    notes.p_offset = noteAt;
    notes.p_filesz = note.size();
    segments.push_back(notes);
    const std::size_t symbolsAt = noteAt + note.size(),
                      namesAt = symbolsAt + symbols_.size() * sizeof(Elf64_Sym),
                      sectionsAt = namesAt + names_.size();
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_type = ET_DYN;
    header.e_machine = EM_X86_64;
    header.e_phoff = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = static_cast<Elf64_Half>(segments.size());
    header.e_shoff = sectionsAt;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 3;
    Elf64_Shdr sections[3] = {};
    sections[1].sh_type = table;
    sections[1].sh_link = 2;
    sections[1].sh_offset = symbolsAt;
    sections[1].sh_size = symbols_.size() * sizeof(Elf64_Sym);
    sections[2].sh_type = SHT_STRTAB;
    sections[2].sh_offset = namesAt;
    sections[2].sh_size = names_.size();
    return raw(&header, sizeof header) +
           raw(segments.data(), segments.size() * sizeof(Elf64_Phdr)) + note +
           raw(symbols_.data(), symbols_.size() * sizeof(Elf64_Sym)) + names_ +
           raw(sections, sizeof sections);
  }

 private:
  static std::string raw(const void* bytes, std::size_t count) {
    return {static_cast<const char*>(bytes), count};
  }
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Sym> symbols_;
  std::string names_ = std::string(1, '\0'), buildId_;
};

}  // namespace stallprof::testing
