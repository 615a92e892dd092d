// SPDX-License-Identifier: MIT
#include "sampler/proc/proc_text.h"

#include <limits>

#include "tests/catch.h"

using namespace stallprof;

namespace {
constexpr char kFields[] =
    " S 7 1 1 0 -1 4194560 11 0 3 0 250 50 100 20 20 0 4 0 98765 1000000 200 18446744073709551615 "
    "1 "
    "1 140722 0 0 0\n";
}  // namespace

TEST_CASE("stat is read after the last parenthesis, whatever a program calls itself") {
  const auto stat = parseStat("42 (a) R 1 (evil)\n) )" + std::string(kFields));
  REQUIRE(stat);
  CHECK(stat->pid == 42);
  CHECK(stat->comm == "a) R 1 (evil)\n) ");
  CHECK(stat->state == 'S');
  CHECK(stat->parent == 7);
  CHECK(stat->minorFaults == 11);
  CHECK(stat->majorFaults == 3);
  CHECK(stat->userTicks == 250);
  CHECK(stat->systemTicks == 50);
  CHECK(stat->childrenUserTicks == 100);
  CHECK(stat->childrenSystemTicks == 20);
  CHECK(stat->threads == 4);
  CHECK(stat->startTicks == 98765);
  CHECK(stat->stack == 140722);
}

TEST_CASE("stat keeps bytes that are no text in a name") {
  const auto stat = parseStat("42 (\xff\x01)" + std::string(kFields));
  REQUIRE(stat);
  CHECK(stat->comm == "\xff\x01");
}

TEST_CASE("a stat cut short at any byte before its start time is refused, never half read") {
  const std::string whole = "42 (python3)" + std::string(kFields);
  const std::size_t enough = whole.find("98765");
  for (std::size_t length = 0; length < enough; ++length)
    CHECK_FALSE(parseStat(whole.substr(0, length)));
}

TEST_CASE("numbers saturate instead of wrapping") {
  CHECK(parseNumber("18446744073709551615") == std::numeric_limits<std::int64_t>::max());
  CHECK(parseNumber("9223372036854775807") == std::numeric_limits<std::int64_t>::max());
  CHECK(parseNumber("-99999999999999999999") == std::numeric_limits<std::int64_t>::min());
  CHECK(parseNumber("  12 kB") == 12);
  CHECK_FALSE(parseNumber("max"));
  CHECK_FALSE(parseNumber(""));
}

TEST_CASE("schedstat needs its three numbers") {
  const auto stat = parseSchedStat("1500000 200000 33\n");
  REQUIRE(stat);
  CHECK(stat->run == Nanos(1'500'000));
  CHECK(stat->queued == Nanos(200'000));
  CHECK(stat->count == 33);
  CHECK_FALSE(parseSchedStat("1500000 200000"));
  CHECK_FALSE(parseSchedStat(""));
  CHECK_FALSE(parseSchedStat("-1 0 0"));
}

TEST_CASE("the syscall file distinguishes running, a fault and a call") {
  CHECK(parseSyscall("running\n")->kind == SyscallLine::Kind::kRunning);
  CHECK(parseSyscall("-1 0x7ffd 0x7f11\n")->kind == SyscallLine::Kind::kOutside);
  const auto call = parseSyscall("0 0x5 0x7f2a 0x20000 0x0 0xffffffffffffffff 0x0 0x7ffe 0x7fad\n");
  REQUIRE(call);
  CHECK(call->kind == SyscallLine::Kind::kCall);
  CHECK(call->number == 0);
  CHECK(call->args[0] == 5);
  CHECK(call->args[4] == ~std::uint64_t{0});
  CHECK(call->stack == 0x7ffe);
  CHECK_FALSE(parseSyscall("0 0x5"));
  CHECK_FALSE(parseSyscall(""));
}

TEST_CASE("a key is matched whole and at the start of a line") {
  const std::string text = "pgscan_direct_throttle 9\npgscan_direct 7\nMemTotal:   100 kB\n";
  CHECK(valueOf(text, "pgscan_direct") == 7);
  CHECK(valueOf(text, "MemTotal:") == 100);
  CHECK(valueOf(text, "Total:") == -1);
  CHECK(valueOf("", "MemTotal:") == -1);
}

TEST_CASE("pressure totals are microseconds; a missing kind is not zero") {
  const std::string text =
      "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234567\nfull avg10=0 avg60=0 avg300=0 "
      "total=8\n";
  CHECK(pressureTotal(text, "some") == Nanos(1'234'567'000));
  CHECK(pressureTotal(text, "full") == Nanos(8'000));
  CHECK(pressureTotal("some avg10=0.00 total=1\n", "full") == Nanos(-1));
  CHECK(pressureTotal("", "some") == Nanos(-1));
}

TEST_CASE("a command line is words ended by NUL, bounded however long it is") {
  using namespace std::string_literals;
  CHECK(parseCommandLine("python\0-c\0a b\0"s) == std::vector<std::string>{"python", "-c", "a b"});
  CHECK(parseCommandLine("title without end") == std::vector<std::string>{"title without end"});
  CHECK(parseCommandLine(std::string(100'000, '\0')).size() <= 256);
}
