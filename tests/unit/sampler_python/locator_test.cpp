// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "sampler/python/runtime/elf_image.h"
#include "sampler/python/runtime/runtime_locator.h"
#include "tests/catch.h"
#include "tests/unit/machine_code/small_elf.h"
#include "tests/unit/sampler/machine.h"

using namespace stallprof;
using namespace stallprof::python;

namespace {

// Zeros but for the head of a runtime of 3.13.
struct OneHead final : RemoteMemory {
  Address head = 0;
  std::size_t read(std::span<const RemoteSpan> spans) override {
    const std::uint64_t words[] = {0, 0x030d00f0, 0};
    std::uint8_t bytes[sizeof words];
    std::memcpy(bytes, words, sizeof bytes);
    std::memcpy(bytes, "xdebugpy", 8);
    for (const RemoteSpan& span : spans)
      for (std::size_t i = 0; i < span.bytes; ++i) {
        const Address at = span.address + i - head;
        static_cast<std::uint8_t*>(span.into)[i] = at < sizeof bytes ? bytes[at] : 0;
      }
    return spans.size();
  }
};

// No memory of the process can be read.
struct NoMemory final : RemoteMemory {
  std::size_t read(std::span<const RemoteSpan>) override { return 0; }
};

std::string interpreterWith(Address runtime) {
  auto elf = stallprof::testing::SmallElf().load(0, 0x400000, 0x1000);
  return elf.symbol("_PyRuntime", runtime, 0x40, STB_GLOBAL, STT_OBJECT).bytes();
}

// Where it is, in a process that has that file mapped; 0: nowhere.
Address runtimeIn(RuntimeLocator& locator, Machine& machine, const std::string& path,
                  std::uint64_t inode) {
  machine.file("proc/7/maps", "400000-401000 r-xp 0 08:01 " + std::to_string(inode) + " " + path +
                                  "\n401000-402000 rw-p 0 00:00 0\n");
  NoMemory memory;
  int error = 0;
  const auto found = locator.find(7, memory, error);
  return found.empty() ? 0 : found[0].at;
}

std::uint64_t inodeOf(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_ino;
}

}  // namespace

TEST_CASE("a file of a container is found in it, one of a chroot where we see it") {
  Machine machine;
  RuntimeLocator locator(machine.root());
  const std::string path = "/jail/usr/lib/libpython3.11.so";
  machine.file(path, interpreterWith(0x400200));
  const std::uint64_t ours = inodeOf(machine.root() + path);
  CHECK(runtimeIn(locator, machine, path, ours + 1) == 0);  // another file has that path there
  CHECK(runtimeIn(locator, machine, path, ours) == 0x400200);
  machine.file("proc/7/root" + path, interpreterWith(0x400300));
  CHECK(runtimeIn(locator, machine, path, ours + 2) == 0x400300);
}

TEST_CASE("a file that took the inode of another is read again") {
  Machine machine;
  RuntimeLocator locator(machine.root());
  const std::string path = "/usr/lib/libpython3.11.so", there = "proc/7/root" + path;
  machine.file(there, interpreterWith(0x400200));
  const std::uint64_t inode = inodeOf(machine.root() + "/" + there);
  CHECK(runtimeIn(locator, machine, path, inode) == 0x400200);
  ::usleep(20'000);  // a file system may count its times in ticks
  machine.file(there, interpreterWith(0x400400));
  REQUIRE(inodeOf(machine.root() + "/" + there) == inode);
  CHECK(runtimeIn(locator, machine, path, inode) == 0x400400);
}

TEST_CASE("mappings with a file are read, others and damaged lines left out") {
  const auto maps = parseMaps(
      "55d0c0000000-55d0c0001000 r--p 00000000 fe:01 1234                       /usr/bin/python3\n"
      "55d0c0001000-55d0c0200000 r-xp 00001000 fe:01 1234                       /usr/bin/python3\n"
      "7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n"
      "7f0000002000-7f0000003000 rw-p 00002000 fe:01 77    /tmp/a b/lib x.so (deleted)\n"
      "7ffd00000000-7ffd00001000 r-xp 00000000 00:00 0                          [vdso]\n"
      "nonsense\n7f-7e r--p 0 0 0 /x\nzz-7e r--p 0 0 0 /x\n");
  REQUIRE(maps.size() == 3);
  CHECK(maps[1].executable);
  CHECK(maps[1].offset == 0x1000);
  CHECK(maps[1].inode == 1234);
  CHECK(maps[2].path == "/tmp/a b/lib x.so");
  CHECK(maps[2].deleted);
  CHECK(maps[2].writable);
}

TEST_CASE("a file's name may give the minor version") {
  CHECK(minorOfName("libpython3.11.so.1.0") == 11);
  CHECK(minorOfName("python3.9") == 9);
  CHECK(minorOfName("libpython3.so") == 0);
  CHECK(minorOfName("python3") == 0);
  CHECK(minorOfName("train-server") == 0);
  CHECK(minorOfName("libpython3.9999") == 0);
}

TEST_CASE("a runtime without a symbol is found by its head, wherever blocks that are read end") {
  Machine machine;
  machine.file("proc/7/maps", "10000-50000 rw-p 0 08:01 5 /opt/python3.13\n");
  for (Address at = 0x1ffc0; at < 0x20010; at += 8) {
    OneHead memory;
    memory.head = at;
    int error = 0;
    const auto found = RuntimeLocator(machine.root()).find(7, memory, error);
    REQUIRE(found.size() == 1);
    CHECK(found[0].at == at);
  }
}

TEST_CASE("a symbol of a library is found by its hash, one that is not there is not") {
  const auto image = ElfImage::open(openAt(AT_FDCWD, "/proc/self/exe", O_RDONLY));
  REQUIRE(image.has_value());
  CHECK_FALSE(image->symbol("_PyRuntime", true).has_value());
  CHECK(image->symbol("main", true).has_value());  // for the linker alone: one by one
  CHECK(image->section(".text").has_value());
  CHECK_FALSE(image->section(".PyRuntime").has_value());
  CHECK_FALSE(ElfImage::open(openAt(AT_FDCWD, "/proc/self/maps", O_RDONLY)).has_value());
}

TEST_CASE("functions are found by how their names begin, without those that hold another text") {
  stallprof::testing::SmallElf elf = stallprof::testing::SmallElf().load(0, 0x400000, 0x1000);
  elf.symbol("_ZSt4sortv", 0x400040, 0x20).symbol("_ZSt4sortIZ4mainEUlvE_", 0x400080, 0x20);
  elf.symbol("_ZNSt6vectorD2Ev", 0x400000, 0x40).symbol("main", 0x400100, 0x20);
  elf.symbol("_ZSt3cin", 0x400140, 0x20, STB_GLOBAL, STT_OBJECT);
  const int file = ::memfd_create("elf", MFD_CLOEXEC);
  REQUIRE(writeAll(file, elf.bytes()));
  const auto image = ElfImage::open(Fd(file));
  REQUIRE(image.has_value());
  constexpr std::string_view kBegins[] = {"_ZSt", "_ZNSt"};
  const auto found = image->functions(kBegins, "EUl");
  REQUIRE(found.size() == 2);
  CHECK(found[0].address == 0);  // in the file
  CHECK(found[1].address == 0x40);
  CHECK(found[1].bytes == 0x20);
  CHECK(image->symbol("main", true) == 0x400100);
  CHECK_FALSE(image->symbol("mai", true).has_value());
}

TEST_CASE("damaged ELF files are read and refused, or found to hold nothing") {
  const Fd self = openAt(AT_FDCWD, "/proc/self/exe", O_RDONLY);
  std::string bytes(64 << 10, '\0');
  REQUIRE(::pread(self.get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  std::uint64_t random = 88172645463325252ull;
  for (int round = 0; round < 300; ++round) {
    std::string bad = bytes;
    for (int i = 0; i < 8; ++i) {
      random ^= random << 13;
      random ^= random >> 7;
      random ^= random << 17;
      bad[4 + random % (round % 2 == 0 ? 60 : 2048)] = static_cast<char>(random >> 32);
    }
    const int file = ::memfd_create("elf", MFD_CLOEXEC);
    REQUIRE(writeAll(file, bad));
    const auto image = ElfImage::open(Fd(file));
    if (!image) continue;
    CHECK_FALSE(image->symbol("_PyRuntime", true).has_value());
    (void)image->section(".PyRuntime");
    (void)image->soname();
  }
}
