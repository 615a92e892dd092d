// SPDX-License-Identifier: MIT
#include "sampler/perf/callers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "event_list.h"
#include "machine.h"
#include "tests/catch.h"
#include "tests/unit/machine_code/small_elf.h"

using namespace stallprof;
using stallprof::testing::SmallElf;

namespace {

using CallCode = std::array<std::uint8_t, kCallBytes>;

// The instruction at the end, no-operations before it.
bool calls(const std::vector<std::uint8_t>& instruction) {
  CallCode code;
  code.fill(0x90);
  std::copy(instruction.begin(), instruction.end(), code.end() - std::ssize(instruction));
  return endsInCall(code);
}

PerfRecord mapping(std::uint64_t begin, std::uint64_t bytes, const char* path) {
  PerfRecord record;
  record.kind = PerfRecord::Kind::kMap;
  record.pid = static_cast<std::uint32_t>(::getpid());
  record.address = begin;
  record.bytes = bytes;
  record.path = path;
  return record;
}

PerfRecord sampleOf(std::vector<std::uint64_t> stack) {
  PerfRecord record;
  record.kind = PerfRecord::Kind::kSample;
  record.pid = static_cast<std::uint32_t>(::getpid());
  record.stack = std::move(stack);
  return record;
}

}  // namespace

TEST_CASE("an address behind a call, in any of its forms, is one to return to") {
  CHECK(calls({0xE8, 0x10, 0x20, 0x00, 0x00}));              // call rel32
  CHECK(calls({0xFF, 0xD0}));                                // *%rax
  CHECK(calls({0x41, 0xFF, 0xD4}));                          // *%r12
  CHECK(calls({0xFF, 0x50, 0x18}));                          // *0x18(%rax)
  CHECK(calls({0xFF, 0x15, 0x00, 0x10, 0x00, 0x00}));        // *0x1000(%rip)
  CHECK(calls({0xFF, 0x94, 0xC0, 0x00, 0x01, 0x00, 0x00}));  // *0x100(%rax,%rax,8)
  CHECK_FALSE(calls({0xE9, 0x10, 0x20, 0x00, 0x00}));        // jmp
  CHECK_FALSE(calls({0xFF, 0xE0}));                          // jmp *%rax
  CHECK_FALSE(calls({}));
}

TEST_CASE("who called a library is the first return address of another file on the stack") {
  EventList out;
  NativeMaps maps;
  std::array<std::uint8_t, 128> code;
  code.fill(0x90);
  code[24] = code[88] = 0xE8;  // calls, behind them 29 and 93
  const auto begin = reinterpret_cast<std::uint64_t>(code.data());
  maps.take(mapping(begin, code.size(), "/opt/train"), out);
  maps.take(mapping(0x1000, 0x1000, "/lib/libc.so.6"), out);
  const NativeMaps::Place library{out.intern("/lib/libc.so.6"), {}, 0x80};
  Callers callers("/");
  const auto find = [&](std::vector<std::uint64_t> stack) {
    return callers.callerOf(sampleOf(std::move(stack)), library, maps, out);
  };
  // A number, a return address of the library's own, an address that no call precedes.
  const auto place = find({7, 0x1100, begin + 40, begin + 29, begin + 40});
  CHECK(out.text(place.file) == "/opt/train");
  CHECK(place.offset == 28);  // within the call
  CHECK(find({7, 0x1100, begin + 40}).file.none());
  maps.take(mapping(begin + 64, code.size() - 64, "/lib64/ld-linux-x86-64.so.2"), out);
  CHECK(find({begin + 93, begin + 29}).offset == 28);  // the linker's, left over
  CHECK(find({}).file.none());
  code.fill(0x90);  // known by its place from then on
  CHECK(find({begin + 29}).offset == 28);
}

TEST_CASE("a template of the standard library is for the program's function that called it") {
  Machine machine;
  SmallElf elf = SmallElf().load(0, 0x400000, 0x1000);
  elf.symbol("_ZSt4sortIPdEvT_S1_", 0x400000, 0x20).symbol("_ZN6Binner4findEv", 0x400020, 0x20);
  elf.symbol("_ZSt6__moveIPdEvT_S1_", 0x400040, 0x10);
  machine.file("train", elf.bytes());
  const std::string file = machine.root() + "/train";
  const std::string exe = "proc/" + std::to_string(::getpid()) + "/exe";
  machine.link(exe, file);

  EventList out;
  NativeMaps maps;
  std::array<std::uint8_t, 128> code;
  code.fill(0x90);
  code[0x08] = code[0x28] = code[0x68] = 0xE8;  // calls from sort, from find, from nobody's code
  const auto begin = reinterpret_cast<std::uint64_t>(code.data());
  maps.take(mapping(begin, code.size(), file.c_str()), out);
  maps.take(mapping(0x1000, 0x1000, "/lib/libc.so.6"), out);
  Callers callers(machine.root());
  const auto find = [&](std::uint64_t offset, const std::string& of, bool kernel = false) {
    PerfRecord record = sampleOf({0x1100, begin + 0x0D, begin + 0x2D, begin + 0x6D});
    record.kernel = kernel;
    return callers.callerOf(record, {out.intern(of), {}, offset}, maps, out);
  };
  CHECK(find(0x44, file).offset == 0x2C);              // not sort, which is a template, too
  CHECK(find(0x80, "/lib/libc.so.6").offset == 0x2C);  // what a template calls
  CHECK(find(0x30, file).file.none());                 // the program's own function
  CHECK(find(0x30, file, true).offset == 0x2F);        // a page fault there is its own
  CHECK(find(0x44, file, true).offset == 0x2C);

  PerfRecord exec;
  exec.kind = PerfRecord::Kind::kExec;
  exec.pid = static_cast<std::uint32_t>(::getpid());
  machine.remove(exe);
  callers.take(exec);  // it runs something else now, of which nothing is known
  CHECK(find(0x44, file).file.none());
}

TEST_CASE("a program's file is read once, also where it has no templates") {
  Machine machine;
  const auto elf = [](const std::string& function) {
    return SmallElf().load(0, 0x400000, 0x1000).symbol(function, 0x400040, 0x10).bytes();
  };
  machine.file("tool", elf("_ZN11quite_plain4findEv"));
  const std::string file = machine.root() + "/tool";
  machine.link("proc/" + std::to_string(::getpid()) + "/exe", file);

  EventList out;
  NativeMaps maps;
  std::array<std::uint8_t, 128> code;
  code.fill(0x90);
  code[0x28] = 0xE8;
  const auto begin = reinterpret_cast<std::uint64_t>(code.data());
  maps.take(mapping(begin, code.size(), file.c_str()), out);
  Callers callers(machine.root());
  const auto find = [&] {
    callers.forget();  // as of another process that runs it
    return callers.callerOf(sampleOf({begin + 0x2D}), {out.intern(file), {}, 0x44}, maps, out);
  };
  CHECK(find().file.none());
  // What is in it now would be seen, had it not the same inode and time.
  struct stat before {};
  REQUIRE(::stat(file.c_str(), &before) == 0);
  machine.file("tool", elf("_ZSt6__moveIPdEvT_S1_"));
  const timespec times[] = {before.st_atim, before.st_mtim};
  REQUIRE(::utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
  CHECK(find().file.none());
  REQUIRE(::utimensat(AT_FDCWD, file.c_str(), nullptr, 0) == 0);
  CHECK(find().offset == 0x2C);
}
