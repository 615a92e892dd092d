// SPDX-License-Identifier: MIT
// An area of the activity memory as the job may leave it: the input is its control part, and behind
// it names and a buffer, a third of the rest each (the buffer twice: as full and as torn).
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "recording/activity/activity_process.h"
#include "tests/fuzz/event_counter.h"

using namespace stallprof;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  AreaControl area;
  const std::size_t control = std::min(size, sizeof area);
  std::memcpy(static_cast<void*>(&area), data, control);
  std::span<const std::uint8_t> rest(data + control, size - control);
  rest = rest.first(std::min<std::size_t>(rest.size(), STALLPROF_ACTIVITY_BUFFER_BYTES));

  EventCounter out;
  ActivityBudget budget;
  const EventMemory::Identities identities{
      [](std::uint32_t pid, std::uint64_t) { return ProcessId{pid}; },
      [](ProcessId, std::uint32_t tid) { return ThreadId{tid}; },
      [](std::uint32_t, std::uint64_t) { return false; }};
  constexpr Nanos kBegan = std::chrono::seconds(10);
  ActivityProcess process(kBegan, budget);
  Nanos now = kBegan + std::chrono::seconds(1);
  for (int round = 0; round < 3; ++round) {
    const ActivityProcess::Sink sink{identities, out, now};
    budget.tick(now);
    process.control(area, sink);
    process.names(rest.first(rest.size() / 3), sink);
    process.buffer(rest.subspan(rest.size() / 3), round == 2, sink);
    process.settle(sink);
    now += std::chrono::seconds(4);
    area.flushed += 4'000'000'000;
  }
  process.end({identities, out, now});
  // Every record is a few events at most; what else there is comes from clocks and switches.
  if (out.events > size + 10'000) std::abort();
  return 0;
}
