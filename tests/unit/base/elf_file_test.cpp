// SPDX-License-Identifier: MIT
#include "base/elf_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "tests/catch.h"

namespace stallprof {
namespace {

// The first `bytes` of this program, in a file of their own.
Fd headOfThisProgram(std::size_t bytes) {
  const auto program = ElfFile::open(openAt(AT_FDCWD, "/proc/self/exe", O_RDONLY));
  REQUIRE(program);
  const std::string content = program->content(0, bytes);
  Fd file(::memfd_create("elf", MFD_CLOEXEC));
  REQUIRE(::write(file.get(), content.data(), content.size()) ==
          static_cast<ssize_t>(content.size()));
  return file;
}

TEST_CASE("the headers of a program are read, and its sections have their names") {
  const auto elf = ElfFile::open(openAt(AT_FDCWD, "/proc/self/exe", O_RDONLY));
  REQUIRE(elf);
  const auto& sections = elf->sections();
  CHECK(std::any_of(sections.begin(), sections.end(), [&](const Elf64_Shdr& s) {
    return elf->text(elf->sectionNames() + s.sh_name, 32) == ".text";
  }));
  CHECK(elf->text(elf->sectionNames() + sections.back().sh_name, 2).size() <= 2);
}

TEST_CASE("an offset in a loaded segment has an address, and the address that offset") {
  const auto elf = ElfFile::open(openAt(AT_FDCWD, "/proc/self/exe", O_RDONLY));
  REQUIRE(elf);
  const auto address = elf->addressOf(64);
  REQUIRE(address);
  CHECK(elf->offsetOf(*address) == 64u);
  CHECK_FALSE(elf->addressOf(elf->bytes() + 1));
  CHECK_FALSE(elf->offsetOf(~std::uint64_t{0}));
}

TEST_CASE("of a file that is cut only what is whole is there") {
  CHECK_FALSE(ElfFile::open(headOfThisProgram(sizeof(Elf64_Ehdr) - 1)));
  const auto one =
      ElfFile::open(headOfThisProgram(sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr) - 1));
  REQUIRE(one);
  CHECK(one->segments().size() == 1);
  CHECK(one->sections().empty());
  CHECK_FALSE(one->get<std::uint64_t>(one->bytes() - 7));
  CHECK_FALSE(one->get<std::uint64_t>(~std::uint64_t{0}));
  CHECK(one->text(~std::uint64_t{0}, 8).empty());
  CHECK(one->content(one->bytes() - 3, 8).size() == 3);
  CHECK(one->content(~std::uint64_t{0}, 8).empty());
}

TEST_CASE("what is no ELF file is refused") {
  CHECK_FALSE(ElfFile::open(openAt(AT_FDCWD, "/proc/self/stat", O_RDONLY)));
  CHECK_FALSE(ElfFile::open(Fd()));
}

}  // namespace
}  // namespace stallprof
