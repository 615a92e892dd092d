// SPDX-License-Identifier: MIT
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <sstream>

#include "event_list.h"
#include "sampler/perf/counter_codes.h"
#include "sampler/perf/counter_sampler.h"
#include "tests/catch.h"

using namespace stallprof;

namespace {

// Event and unit mask of each of our names, as for the CPU libpfm4 calls `pmu`. In a child: the
// library reads which CPU it is once.
std::map<std::string, std::uint64_t> codesOf(const char* pmu) {
  int answer[2] = {-1, -1};
  REQUIRE(::pipe(answer) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("LIBPFM_FORCE_PMU", pmu, 1);
    std::string text;
    for (const CounterCode& code : counterCodes())
      if (code.type == PERF_TYPE_RAW)
        text += code.name + " " + std::to_string(code.config & 0xffff) + "\n";
    ::_exit(writeAll(answer[1], text) ? 0 : 1);
  }
  ::close(answer[1]);
  std::string text(4096, '\0');
  std::size_t have = 0;
  for (ssize_t got = 0; (got = ::read(answer[0], text.data() + have, text.size() - have)) > 0;)
    have += static_cast<std::size_t>(got);
  ::close(answer[0]);
  ::waitpid(child, nullptr, 0);
  std::map<std::string, std::uint64_t> codes;
  std::istringstream lines(text.substr(0, have));
  std::string name;
  for (std::uint64_t code = 0; lines >> name >> code;) codes[name] = code;
  return codes;
}

}  // namespace

// The numbers are Intel's and AMD's: event select in the low byte, unit mask in the next.
TEST_CASE("a CPU's own events are asked for by the codes its maker gives them") {
  auto intel = codesOf("skl");
  CHECK(intel["cycles"] == 0x003c);
  CHECK(intel["instructions"] == 0x00c0);
  CHECK(intel["llc_misses"] == 0x412e);
  CHECK(intel["fp_256_single"] == 0x20c7);
  CHECK(intel["fp_scalar_double"] == 0x01c7);
  CHECK_FALSE(intel.contains("fp_operations"));
  auto amd = codesOf("amd64_fam19h_zen3");
  CHECK(amd["cycles"] == 0x0076);
  CHECK(amd["fp_operations"] == 0x0f03);
  CHECK_FALSE(amd.contains("fp_256_single"));
}

TEST_CASE("counters are read with the time they counted; what the kernel lacks is said") {
  const CounterCode clock{"cycles", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 0, 0};
  const CounterCode unknown{"llc_misses", PERF_TYPE_SOFTWARE, 1'000'000, 0, 0};
  CounterSampler counters;
  EventList list;
  if (!counters.open(::getpid(), {clock, unknown})) {
    counters.sample(now(), list);
    testing::skipTest("perf events are refused here: " + list.source("hardware_counters").second);
    return;
  }
  const Nanos until = processCpu() + Nanos(5'000'000);
  while (processCpu() < until) {
  }
  counters.sample(now(), list);
  const auto read = list.only<CounterUsage>();
  CHECK(list.text(read.name) == "cycles");
  CHECK(read.count > 1'000'000);  // of 5 ms
  CHECK(read.running > Nanos(0));
  CHECK(read.running <= read.enabled);
  CHECK(list.source("hardware_counters").first == Coverage::kPartial);
  CHECK(list.source("hardware_counters").second.find("llc_misses") != std::string::npos);
}

TEST_CASE(
    "a CPU without counters is said to have none, and one that nobody asked is not spoken of") {
  EventList list;
  CounterSampler none;
  none.sample(now(), list);
  CHECK(list.events.empty());
  CHECK_FALSE(none.open(::getpid(), {{"cycles", PERF_TYPE_SOFTWARE, 1'000'000, 0, 0}}));
  none.sample(now(), list);
  CHECK(list.source("hardware_counters").first == Coverage::kAbsent);
  CHECK_FALSE(list.source("hardware_counters").second.empty());
  CHECK(list.all<CounterUsage>().empty());
}
