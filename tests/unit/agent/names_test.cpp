// SPDX-License-Identifier: MIT
#include "agent/cupti/names.h"

#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/catch.h"

namespace stallprof::agent {
namespace {

std::uint64_t at(const char* text) { return reinterpret_cast<std::uint64_t>(text); }

struct NameBench {
  std::unique_ptr<stallprof_activity_area> area = std::make_unique<stallprof_activity_area>();
  std::unique_ptr<Names> names = std::make_unique<Names>();

  std::vector<std::string> log() const {  // "number:text" in order
    std::vector<std::string> found;
    for (std::uint64_t i = 0; i < area->name_head;) {
      stallprof_name n{};
      std::memcpy(&n, area->names + i, sizeof n);
      i += sizeof n;
      found.push_back(std::to_string(n.number) + ":" +
                      std::string(reinterpret_cast<const char*>(area->names + i), n.length));
      i += (n.length + 7) & ~7u;
    }
    return found;
  }
};

TEST_CASE("a name is logged once and keeps its number") {
  NameBench bench;
  const char gemm[] = "gemm", add[] = "elementwise_add";
  const std::uint32_t first = bench.names->nextBuffer();
  CHECK(bench.names->numberOf(*bench.area, at(gemm), first) == 1);
  CHECK(bench.names->numberOf(*bench.area, at(add), first) == 2);
  CHECK(bench.names->numberOf(*bench.area, at(gemm), first) == 1);
  CHECK(bench.names->numberOf(*bench.area, at(gemm), bench.names->nextBuffer()) == 1);
  CHECK(bench.log() == std::vector<std::string>{"1:gemm", "2:elementwise_add"});
}

TEST_CASE("another text at the same address is another name from the next buffer on") {
  NameBench bench;
  char text[16] = "before";
  CHECK(bench.names->numberOf(*bench.area, at(text), bench.names->nextBuffer()) == 1);
  std::strcpy(text, "after");
  CHECK(bench.names->numberOf(*bench.area, at(text), bench.names->nextBuffer()) == 2);
  CHECK(bench.log() == std::vector<std::string>{"1:before", "2:after"});
}

TEST_CASE("texts that come back at other addresses keep their numbers, for any number of windows") {
  NameBench bench;
  std::vector<std::vector<std::string>> windows;  // kept: no address is used twice
  std::uint32_t wrong = 0;
  for (int w = 0; w < 200; ++w) {
    std::vector<std::string>& texts = windows.emplace_back();
    const std::uint32_t buffer = bench.names->nextBuffer();
    for (std::uint32_t i = 0; i < 100; ++i) {
      texts.push_back("_ZN2at6native29vectorized_elementwise_kernelILi" + std::to_string(i));
      wrong += bench.names->numberOf(*bench.area, at(texts.back().c_str()), buffer) != i + 1;
    }
    bench.names->forgetPointers(*bench.area);
  }
  CHECK(wrong == 0);
  CHECK(bench.area->names_lost == 0);
  const std::string late = "_Z4latev";  // there is room left for texts
  CHECK(bench.names->numberOf(*bench.area, at(late.c_str()), bench.names->nextBuffer()) == 101);
  CHECK(bench.area->names_lost == 0);
}

TEST_CASE("a further address of a text is logged without it, and that all are forgotten") {
  NameBench bench;
  const std::string first = "_Z4gemmPf", again = first;
  CHECK(bench.names->numberOf(*bench.area, at(first.c_str()), bench.names->nextBuffer()) == 1);
  bench.names->forgetPointers(*bench.area);
  CHECK(bench.names->numberOf(*bench.area, at(again.c_str()), bench.names->nextBuffer()) == 1);
  CHECK(bench.log() == std::vector<std::string>{"1:_Z4gemmPf", "0:", "1:"});
}

TEST_CASE("no pointer is no name") {
  NameBench bench;
  CHECK(bench.names->numberOf(*bench.area, 0, 1) == 0);
  CHECK(bench.log().empty());
}

TEST_CASE("a name too long is cut, and names beyond the log are counted") {
  NameBench bench;
  const std::string whole(STALLPROF_NAME_LIMIT + 100, 'x');
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < 300; ++i) texts.push_back(std::to_string(1000 + i) + whole);
  const std::uint32_t buffer = bench.names->nextBuffer();
  std::uint32_t last = 0;
  for (const std::string& text : texts)
    last = bench.names->numberOf(*bench.area, at(text.c_str()), buffer);
  CHECK(last == STALLPROF_NAME_NUMBERS - 1);
  const std::size_t fit = STALLPROF_NAME_BYTES / (STALLPROF_NAME_LIMIT + sizeof(stallprof_name));
  CHECK(bench.log().size() == fit);
  CHECK(bench.log()[0].size() == STALLPROF_NAME_LIMIT + 2);
  CHECK(bench.area->names_lost == 300 - fit);
}

TEST_CASE("threads that return buffers at one time agree on the numbers") {
  NameBench bench;
  std::vector<std::string> texts;
  for (int i = 0; i < 500; ++i) texts.push_back("kernel" + std::to_string(i));
  std::vector<std::vector<std::uint32_t>> numbers(4);
  std::vector<std::thread> threads;
  for (auto& mine : numbers)
    threads.emplace_back([&] {
      const std::uint32_t buffer = bench.names->nextBuffer();
      for (const std::string& text : texts)
        mine.push_back(bench.names->numberOf(*bench.area, at(text.c_str()), buffer));
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(bench.log().size() == 500);
  for (const auto& mine : numbers) CHECK(mine == numbers[0]);
}

}  // namespace
}  // namespace stallprof::agent
