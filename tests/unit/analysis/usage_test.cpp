// SPDX-License-Identifier: MIT
#include "analysis/facts/usage.h"

#include "tests/unit/analysis/text_trace.h"

using namespace stallprof;
using namespace stallprof::test;
using namespace std::chrono_literals;

namespace {

Nanos cpuOf1(const Trace& trace, Nanos begin, Nanos end) {
  return cpuIn(trace.process(ProcessId{1}), {begin, end});
}

// Of a process that began at 10 s: when it was sampled, and its CPU by then.
Trace withCpu(std::initializer_list<std::pair<const char*, const char*>> samples,
              const std::string& more = {}) {
  std::string text = "10s process process=1 pid=7\n";
  for (const auto& [at, cpu] : samples)
    text += std::string(at) + " usage process=1 cpu=" + cpu + "\n";
  return traceOf(text + more);
}

}  // namespace

TEST_CASE("a counter is even between two samples, and still before the first and after the last") {
  const Trace trace = traceOf("10s host swap_in=100\n20s host swap_in=300\n");
  const auto at = [&](Nanos t) { return valueAt(trace.host, &HostUsage::swapInPages, t); };
  CHECK(at(5s) == 100);
  CHECK(at(10s) == 100);
  CHECK(at(15s) == 200);
  CHECK(at(20s) == 300);
  CHECK(at(99s) == 300);
  CHECK(growth(trace.host, &HostUsage::swapInPages, Interval{15s, 20s}) == 100);
  CHECK(growth(trace.host, &HostUsage::swapInPages, Interval{30s, 40s}) == 0);
}

TEST_CASE("samples that did not know a counter are passed over; never known is null, not 0") {
  const Trace trace = traceOf(
      "10s host swap_in=100\n"
      "12s host\n"
      "14s host\n"
      "20s host swap_in=200\n");
  CHECK(valueAt(trace.host, &HostUsage::swapInPages, 13s) == 130);
  CHECK(!valueAt(trace.host, &HostUsage::swapOutPages, 13s));
  CHECK(!growth(trace.host, &HostUsage::swapOutPages, Interval{10s, 20s}));
  CHECK(!growth(Table<HostUsage>{}, &HostUsage::swapInPages, Interval{10s, 20s}));
}

TEST_CASE("a counter that went back (another process under the id) has not shrunk") {
  const Trace trace = traceOf("10s host swap_in=500\n20s host swap_in=10\n");
  CHECK(growth(trace.host, &HostUsage::swapInPages, Interval{10s, 20s}) == 0);
}

TEST_CASE("what a process born in the interval used before its first sample counts too") {
  const Trace trace = withCpu({{"11s", "800ms"}, {"12s", "1500ms"}});
  CHECK(cpuOf1(trace, 5s, 20s) == 1500ms);
  CHECK(cpuOf1(trace, 11s, 20s) == 700ms);
  CHECK(cpuOf1(trace, 20s, 30s) == 0ms);
  CHECK(cpuIn(trace.process(ProcessId{9}), {5s, 20s}) == 0ms);
}

TEST_CASE("the end of an interval past the last sample goes on at the pace of the rest") {
  const Trace trace =
      withCpu({{"11s", "1s"}, {"14s", "4s"}}, "10s host swap_in=100\n14s host swap_in=500\n");
  CHECK(cpuOf1(trace, 12s, 15s) == 3s);
  CHECK(cpuOf1(trace, 9s, 15s) == 5s);   // born in it: from 0 at 10 s
  CHECK(cpuOf1(trace, 13s, 16s) == 1s);  // a third: too little to know
  CHECK(growth(trace.host, &HostUsage::swapInPages, Interval{12s, 15s}) == 300);
  CHECK(growth(trace.host, &HostUsage::swapInPages, Interval{9s, 14s}) == 500);
}

TEST_CASE("a process uses nothing after its end") {
  const Trace trace =
      withCpu({{"10s", "0"}, {"14s", "4s"}}, "15s process_gone process=1\n30s host swap_in=1\n");
  CHECK(cpuOf1(trace, 12s, 30s) == 3s);
  CHECK(cpuOf1(trace, 20s, 30s) == 0s);
}
