// SPDX-License-Identifier: MIT
#include "sampler/perf/jit_spins.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "tests/catch.h"

using namespace stallprof;

TEST_CASE(
    "a process's code made at run time is read where it was sampled, and again once forgotten") {
  const std::size_t bytes = 4096;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  char* code = static_cast<char*>(memory) + 1024;
  const auto self = static_cast<std::uint32_t>(::getpid());
  const auto address = reinterpret_cast<std::uint64_t>(code);
  std::memcpy(code, "\xf3\x90\x48\x3b\x43\x40\x74\xf8", 8);
  JitSpins spins;
  CHECK(spins.at(self, address + 2));
  CHECK_FALSE(spins.at(self, address + 8));
  CHECK_FALSE(spins.at(self, address - 1024));  // what lies before cannot be read, or is no code
  std::memset(code, '\x90', 8);
  CHECK(spins.at(self, address + 2));
  spins.forget();
  CHECK_FALSE(spins.at(self, address + 2));
  CHECK_FALSE(spins.at(self, 1));
  ::munmap(memory, bytes);
  CHECK_FALSE(spins.at(self, address + 4));
}
