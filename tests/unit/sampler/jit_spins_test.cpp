// SPDX-License-Identifier: MIT
#include "sampler/perf/jit/jit_spins.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "machine_code/code_patterns.h"
#include "tests/catch.h"

using namespace stallprof;

namespace {

// A page that can be read between two that cannot.
struct Pages {
  static constexpr std::size_t kBytes = 4096;
  Pages() {
    void* mapped = ::mmap(nullptr, 3 * kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(mapped != MAP_FAILED);
    begin = static_cast<char*>(mapped) + kBytes;
    REQUIRE(::mprotect(begin, kBytes, PROT_READ | PROT_WRITE) == 0);
    std::memset(begin, '\x90', kBytes);
  }
  ~Pages() { ::munmap(begin - kBytes, 3 * kBytes); }
  Pages(const Pages&) = delete;
  // pause; jmp back
  std::uint64_t spinAt(std::size_t offset) const {
    std::memcpy(begin + offset, "\xf3\x90\xeb\xfc", 4);
    return reinterpret_cast<std::uint64_t>(begin + offset);
  }
  char* begin = nullptr;
};

const auto self = static_cast<std::uint32_t>(::getpid());

}  // namespace

TEST_CASE(
    "a process's code made at run time is read where it was sampled, and again once forgotten") {
  const Pages pages;
  const std::uint64_t loop = pages.spinAt(1024);
  JitSpins spins;
  CHECK(spins.at(self, loop));
  CHECK(spins.at(self, loop + 2));
  CHECK_FALSE(spins.at(self, loop + 4));
  std::memset(pages.begin, '\x90', Pages::kBytes);
  CHECK(spins.at(self, loop));
  spins.forget();
  CHECK_FALSE(spins.at(self, loop));
}

TEST_CASE("a loop at the end of what can be read is not known to wait") {
  const Pages pages;
  JitSpins spins;
  CHECK(spins.at(self, pages.spinAt(kSpinNear)));
  CHECK_FALSE(spins.at(self, pages.spinAt(kSpinNear - 8)));
  CHECK_FALSE(spins.at(self, pages.spinAt(Pages::kBytes - 8)));
  CHECK_FALSE(spins.at(self, 1));
  CHECK_FALSE(spins.at(0x7fffffff, pages.spinAt(1024)));  // no such process
}

TEST_CASE("so many places are read in a while, whatever is sampled") {
  const Pages pages;
  const std::uint64_t loop = pages.spinAt(1024);
  JitSpins spins;
  for (std::size_t i = 0; i < JitSpins::kMaxPlaces; ++i) CHECK_FALSE(spins.at(self, loop + 64 + i));
  CHECK_FALSE(spins.at(self, loop));
  spins.forget();
  CHECK(spins.at(self, loop));
}
