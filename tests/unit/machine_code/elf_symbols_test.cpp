// SPDX-License-Identifier: MIT
#include "machine_code/elf_symbols.h"

#include <sys/mman.h>
#include <unistd.h>

#include "small_elf.h"
#include "tests/catch.h"

using namespace stallprof;
using stallprof::testing::SmallElf;

namespace {

std::optional<ElfSymbols> openBytes(const std::string& bytes) {
  const int file = ::memfd_create("elf", MFD_CLOEXEC);
  REQUIRE(::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  return ElfSymbols::open(Fd(file));
}

// Code at 0x1000 in the file is at 0x401000 in memory.
SmallElf program() { return SmallElf().load(0, 0x400000, 0x1000).load(0x1000, 0x401000, 0x1000); }

std::vector<std::string> namesAt(const SmallElf& elf, std::vector<std::uint64_t> offsets,
                                 std::uint32_t table = SHT_SYMTAB) {
  const auto symbols = openBytes(elf.bytes(table));
  REQUIRE(symbols);
  return symbols->functionsAt(offsets);
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a place is named by the function that covers it, whatever order places are asked in") {
  SmallElf elf = program();
  elf.symbol("second", 0x401100, 0x80).symbol("first", 0x401000, 0x100);
  CHECK(namesAt(elf, {0x1110, 0x1000, 0x10ff, 0x1180, 0x0fff, 0x9999}) ==
        Names{"second", "first", "first", "", "", ""});
  CHECK(namesAt(elf, {0x1110}, SHT_DYNSYM) == Names{"second"});
}

TEST_CASE("data, undefined and absurdly long symbols name nothing") {
  SmallElf elf = program();
  elf.symbol("data", 0x401000, 0x100, STB_GLOBAL, STT_OBJECT);
  elf.symbol("everything", 0x400000, 1ull << 40);
  elf.symbol("undefined", 0x401000, 0x100);
  elf.lastSymbol().st_shndx = SHN_UNDEF;
  CHECK(namesAt(elf, {0x1000}) == Names{""});
}

TEST_CASE("of two names of one function the global one is given, of two functions the nearer") {
  SmallElf elf = program();
  elf.symbol("__local_memcpy", 0x401000, 0x40, STB_LOCAL).symbol("memcpy", 0x401000, 0x40);
  elf.symbol("__another_local", 0x401000, 0x40, STB_LOCAL);
  elf.symbol("outer", 0x401100, 0x200).symbol("inner", 0x401180, 0x20);
  CHECK(namesAt(elf, {0x1010, 0x1110, 0x1190, 0x11f0}) ==
        Names{"memcpy", "outer", "inner", "outer"});
}

TEST_CASE("a function without a size ends somewhere near, and yields to one that has a size") {
  SmallElf elf = program();
  elf.symbol("assembly", 0x401000, 0).symbol("compiled", 0x401200, 0x10);
  CHECK(namesAt(elf, {0x1000, 0x1100, 0x1208, 0x1210}) ==
        Names{"assembly", "assembly", "compiled", "assembly"});
}

TEST_CASE("the build id is read, and debugging symbols of another file are asked first") {
  const auto stripped = openBytes(program().buildId("\xab\xcd\x01").bytes());
  REQUIRE(stripped);
  CHECK(stripped->buildId() == "abcd01");
  SmallElf other = program();
  other.symbol("from_debug", 0x401000, 0x10);
  const auto debug = openBytes(other.bytes());
  REQUIRE(debug);
  CHECK(stripped->functionsAt(std::vector<std::uint64_t>{0x1004}, &*debug) == Names{"from_debug"});
  CHECK(openBytes(program().bytes())->buildId().empty());
}

TEST_CASE("what is no ELF file of 64 bits is refused") {
  CHECK_FALSE(openBytes(""));
  CHECK_FALSE(openBytes("#!/bin/sh\n"));
  std::string elf = program().bytes();
  elf[EI_CLASS] = ELFCLASS32;
  CHECK_FALSE(openBytes(elf));
}

TEST_CASE("an image cut at any byte is read as far as it goes") {
  SmallElf elf = program();
  elf.buildId("\x01\x02\x03\x04").symbol("first", 0x401000, 0x100);
  const std::string whole = elf.bytes();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto symbols = openBytes(whole.substr(0, length));
    if (symbols) CHECK(symbols->functionsAt(std::vector<std::uint64_t>{0x1004}).size() == 1);
  }
}

TEST_CASE("a table that claims that every symbol covers every place is left after bounded work") {
  SmallElf elf = SmallElf().load(0, 0x400000, 1u << 24);
  for (int i = 0; i < 1000; ++i) elf.symbol("f", 0x400001, 1u << 24);
  std::vector<std::uint64_t> offsets(100'000);
  for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] = 16 * i + 1;
  CHECK(namesAt(elf, offsets)[0] == "f");
}
