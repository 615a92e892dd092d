// SPDX-License-Identifier: MIT
#include "sampler/perf/call_names.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "event_list.h"
#include "sampler/proc/wait_class.h"
#include "tests/catch.h"

using namespace stallprof;
using Code = std::vector<std::uint8_t>;

namespace {

// As glibc 2.36 has them: open64, read, and syscall(2), whose number is its caller's.
const Code kOpenAt = {0x44, 0x89, 0xC2, 0xB8, 0x01, 0x01, 0x00, 0x00, 0x0F, 0x05};
const Code kRead = {0x74, 0x10, 0x31, 0xC0, 0x0F, 0x05};
const Code kAny = {0x48, 0x89, 0xF8, 0x4C, 0x8B, 0x4C, 0x24, 0x08, 0x0F, 0x05};

}  // namespace

TEST_CASE("the code before a thread's return says which system call it is in") {
  CHECK(callBefore(kOpenAt) == 257);
  CHECK(callBefore(kRead) == 0);
}

TEST_CASE("registers set between the number and the call do not hide it") {
  CHECK(callBefore(Code{0xB8, 0x09, 0x00, 0x00, 0x00, 0x31, 0xFF, 0x0F, 0x05}) == 9);
}

TEST_CASE("a call whose number is not in the code is a call of no name") {
  CHECK(callBefore(kAny) == -1);
  // An immediate that is no number of a call.
  CHECK(callBefore(Code{0xB8, 0xFF, 0xFF, 0xFF, 0x7F, 0x0F, 0x05}) == -1);
}

TEST_CASE("calls that wait for nothing have names, too") {
  for (const int number : {SYS_clock_gettime, SYS_getpid, SYS_fcntl, SYS_execve})
    CHECK_FALSE(classOfCall(number).name.empty());
}

TEST_CASE("code that does not end in a call was interrupted") {
  CHECK_FALSE(callBefore(Code{0x0F, 0x05, 0x48, 0x3D}));
  CHECK_FALSE(callBefore(Code{0x05}));
  CHECK_FALSE(callBefore({}));
}

TEST_CASE("a call is named by the memory of the process, and known by its place from then on") {
  EventList out;
  CallNames names;
  std::array<std::uint8_t, CallNames::kCode + 4> code{};
  std::copy(kOpenAt.begin(), kOpenAt.end(), code.begin() + (CallNames::kCode - kOpenAt.size()));
  const auto pid = static_cast<std::uint32_t>(::getpid());
  const auto back = reinterpret_cast<std::uint64_t>(code.data()) + CallNames::kCode;
  const NativeMaps::Place place{out.intern("/lib/libc.so.6"), {}, 4711, {}, false};
  CHECK(out.text(names.nameOf(pid, back, place, out)) == "openat");
  CHECK(out.text(names.nameOf(pid, back + 4, {out.intern("/opt/trainer"), {}, 8, {}, false},
                              out)) == "page_fault");
  code.fill(0);
  CHECK(out.text(names.nameOf(pid, back, place, out)) == "openat");
  CHECK(names.nameOf(pid, 0, place, out).none());
  CHECK(names.nameOf(pid, back, {}, out).none());
}
