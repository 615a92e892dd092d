// SPDX-License-Identifier: MIT
// What ActivityProcess keeps of a process, each part alone: names, switches, devices, details.
#include "recording/activity/activity_parts.h"

#include <cstring>

#include "sample_events.h"
#include "tests/catch.h"

namespace stallprof {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

std::vector<std::uint8_t> entry(std::uint32_t number, std::uint64_t pointer,
                                std::string_view text) {
  stallprof_name header{};
  header.number = number;
  header.pointer = pointer;
  header.length = static_cast<std::uint32_t>(text.size());
  std::vector<std::uint8_t> bytes(sizeof header + (text.size() + 7) / 8 * 8);
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, text.data(), text.size());
  return bytes;
}

TEST_CASE("names are found by number and by pointer, up to the first entry that cannot be one") {
  EventList out;
  ActivityNames names;
  CHECK(names.take(entry(1, 1ull << 40, "gemm"), out) == 0);
  CHECK(names.take(entry(2, 2ull << 40, "ncclKernel_AllReduce"), out) == 0);
  CHECK(names.numberOf(2) == 2);
  CHECK(names.numberOf(1ull << 40) == 1);
  CHECK(names.numberOf(3) == 0);
  CHECK(names.numberOf(3ull << 40) == 0);
  CHECK(out.strings.at(names.at(1).text) == "gemm");
  CHECK_FALSE(names.at(1).collective);
  CHECK(names.at(2).collective);
  CHECK(names.at(0).text.none());
  const auto wrong = entry(7, 3ull << 40, "out of order");
  CHECK(names.take(wrong, out) == wrong.size());
  const auto after = entry(3, 3ull << 40, "late");
  CHECK(names.take(after, out) == after.size());
  CHECK(names.numberOf(3) == 0);
  CHECK(names.bytesRead() == entry(1, 0, "gemm").size() +
                                 entry(2, 0, "ncclKernel_AllReduce").size() + wrong.size() +
                                 after.size());
}

TEST_CASE("a name has further addresses, until CUPTI leaves the process with all of them") {
  EventList out;
  ActivityNames names;
  CHECK(names.take(entry(1, 1ull << 40, "gemm"), out) == 0);
  CHECK(names.take(entry(1, 2ull << 40, ""), out) == 0);
  CHECK(names.numberOf(1ull << 40) == 1);
  CHECK(names.numberOf(2ull << 40) == 1);
  CHECK(names.take(entry(0, 0, ""), out) == 0);
  CHECK(names.numberOf(1ull << 40) == 0);
  CHECK(names.numberOf(2ull << 40) == 0);
  CHECK(names.numberOf(1) == 1);
  CHECK(names.take(entry(1, 3ull << 40, ""), out) == 0);
  CHECK(names.take(entry(2, 1ull << 40, "add"), out) == 0);
  CHECK(names.numberOf(3ull << 40) == 1);
  CHECK(names.numberOf(1ull << 40) == 2);
  CHECK(out.strings.at(names.at(1).text) == "gemm");
  for (const std::uint32_t number : {0u, 1u}) {  // neither can have another text
    ActivityNames others;
    CHECK(others.take(entry(1, 1ull << 40, "gemm"), out) == 0);
    const auto wrong = entry(number, 2ull << 40, "x");
    CHECK(others.take(wrong, out) == wrong.size());
  }
}

void turn(AreaControl& area, std::uint64_t at, std::uint32_t on) {
  area.onoff[area.switchHead++ % STALLPROF_ACTIVITY_SWITCHES] = {at, on, 0};
}

TEST_CASE("what was traced is known between switches, and not where switches were overwritten") {
  AreaControl area;
  ActivitySwitches switches;
  CHECK(switches.onNow() == 0);
  turn(area, 100, 1);
  turn(area, 200, 3);
  switches.take(area);
  CHECK(switches.onAt(99) == 0);
  CHECK(switches.onAt(100) == 1);
  CHECK(switches.onAt(1000) == 3);
  std::vector<std::int64_t> ends;
  switches.forEach(50, 300, [&](std::int64_t from, std::int64_t to, std::uint32_t on) {
    ends.insert(ends.end(), {from, to, on});
  });
  CHECK(ends == std::vector<std::int64_t>{100, 200, 1, 200, 300, 3});
  for (std::uint64_t i = 0; i <= STALLPROF_ACTIVITY_SWITCHES; ++i) turn(area, 300 + i, 1);
  switches.take(area);
  CHECK(switches.onAt(250) == 0);
  CHECK(switches.onNow() == 1);
  switches.forget(1000);
  CHECK(switches.onAt(250) == 0);
  CHECK(switches.onAt(2000) == 1);
}

TEST_CASE("a device counts in the budget once it is used, and a graph is of its context's device") {
  EventList out;
  ActivityBudget budget;
  const std::size_t alone = budget.spansIn(Nanos(kSecondNs));
  {
    ActivityDevices devices(budget);
    devices.setUsed(*devices.at(0));
    devices.setUsed(*devices.at(0));
    devices.setUsed(*devices.at(5));
    CHECK(budget.spansIn(Nanos(kSecondNs)) < alone);
    CHECK(devices.at(ActivityDevices::kMaxDevices) == nullptr);
    ActivityRecord record;
    record.device = 5;
    record.context = 77;
    CHECK(devices.ordinalOf(record) == 5);
    record.device = 0xffffffff;
    CHECK(devices.ordinalOf(record) == 5);
    CHECK(out.strings.at(devices.nameOf(5, out)) == "device 5");
    devices.at(5)->name = out.intern("GPU-x");
    CHECK(out.strings.at(devices.nameOf(5, out)) == "GPU-x");
  }
  CHECK(budget.spansIn(Nanos(kSecondNs)) == alone);
  ActivityDevice details;
  details.uuid[15] = 0xab;
  CHECK(ActivityDevices::uuidText(details) == "GPU-00000000-0000-0000-0000-0000000000ab");
}

TEST_CASE("details begin three seconds after the first work, and again after a minute") {
  ActivityBudget budget;
  ActivityDetails details(budget);
  details.setRate(100, kSecondNs);
  details.plan(1 * kSecondNs, 0, 0, true);
  details.plan(3 * kSecondNs, 1 * kSecondNs, 0, true);
  details.plan(4 * kSecondNs, 1 * kSecondNs, 0, false);
  CHECK(details.intervals().empty());
  details.plan(4 * kSecondNs, 1 * kSecondNs, 0, true);
  REQUIRE(details.intervals().size() == 1);
  CHECK(details.within({4 * kSecondNs, 5 * kSecondNs}));
  CHECK(details.within({13 * kSecondNs, 15 * kSecondNs}));
  CHECK_FALSE(details.within({14 * kSecondNs, 15 * kSecondNs}));
  details.plan(30 * kSecondNs, 1 * kSecondNs, 29 * kSecondNs, true);
  CHECK(details.intervals().empty());
  details.plan(64 * kSecondNs, 1 * kSecondNs, 63 * kSecondNs, true);
  CHECK(details.intervals().size() == 1);
}

TEST_CASE("details are cut after a second where far more is paid than was foreseen") {
  ActivityBudget budget;
  ActivityDetails details(budget);
  details.setRate(100, kSecondNs);
  details.plan(10 * kSecondNs, 1, 0, true);
  details.pay(2'000'000);
  details.plan(11 * kSecondNs, 1, 10 * kSecondNs, true);
  CHECK(details.intervals().front().end == 11 * kSecondNs);
}

}  // namespace
}  // namespace stallprof
