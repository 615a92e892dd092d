// SPDX-License-Identifier: MIT
#include "sampler/perf/callers.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <vector>

#include "event_list.h"
#include "tests/catch.h"

using namespace stallprof;

namespace {

using Code = std::array<std::uint8_t, kCallBytes>;

// The instruction at the end, no-operations before it.
bool calls(const std::vector<std::uint8_t>& instruction) {
  Code code;
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
  std::array<std::uint8_t, 64> code;
  code.fill(0x90);
  code[24] = 0xE8;  // a call, behind it 29
  const auto begin = reinterpret_cast<std::uint64_t>(code.data());
  const auto pid = static_cast<std::uint32_t>(::getpid());
  maps.take(mapping(begin, code.size(), "/opt/train"), out);
  maps.take(mapping(0x1000, 0x1000, "/lib/libc.so.6"), out);
  const StringId library = out.intern("/lib/libc.so.6");
  Callers callers;
  const auto find = [&](std::vector<std::uint64_t> stack) {
    return callers.callerOf(pid, stack, library, maps);
  };
  // A number, a return address of the library's own, an address that no call precedes.
  const auto place = find({7, 0x1100, begin + 40, begin + 29, begin + 40});
  CHECK(out.text(place.file) == "/opt/train");
  CHECK(place.offset == 28);  // within the call
  CHECK(find({7, 0x1100, begin + 40}).file.none());
  CHECK(find({}).file.none());
  code.fill(0x90);  // known by its place from then on
  CHECK(find({begin + 29}).offset == 28);
}
