// SPDX-License-Identifier: MIT
#include "sampler/processes/live_processes.h"

#include "sampler/processes/process_announcer.h"
#include "tests/catch.h"
#include "tests/unit/sampler/event_list.h"
#include "tests/unit/sampler/machine.h"

using namespace stallprof;

namespace {

LiveProcess process(std::uint32_t id, std::uint32_t pid) {
  LiveProcess made;
  made.id = ProcessId{id};
  made.pid = pid;
  made.threads = {{ThreadId{id}, pid, {}}};
  return made;
}

}  // namespace

TEST_CASE("a live process is found by pid and by identity, with its own watch, after others went") {
  LiveProcesses live;
  for (std::uint32_t i = 1; i <= 4; ++i) live.watchOf(live.add(process(i, 100 + i))).stack = i;
  live.remove(*live.find(102u));
  live.remove(*live.find(104u));
  CHECK(live.size() == 2);
  CHECK(live.find(102u) == nullptr);
  CHECK(live.find(ProcessId{4}) == nullptr);
  for (const std::uint32_t i : {1u, 3u}) {
    REQUIRE(live.find(100 + i) != nullptr);
    CHECK(live.find(100 + i) == live.find(ProcessId{i}));
    CHECK(live.watchOf(*live.find(100 + i)).stack == i);
  }
}

TEST_CASE("a process has the threads that were added to it") {
  const LiveProcess one = process(1, 101);
  REQUIRE(one.thread(101) != nullptr);
  CHECK(one.thread(101)->id == ThreadId{1});
  CHECK(one.thread(102) == nullptr);
}

TEST_CASE("threads that are many are found and removed as few are") {
  LiveProcess made = process(1, 1);
  for (std::uint32_t tid = 2; tid <= 1000; ++tid) made.add({ThreadId{tid}, tid, {}});
  for (std::uint32_t tid = 3; tid <= 1000; tid += 3) REQUIRE(made.remove(tid));
  CHECK_FALSE(made.remove(3));
  CHECK_FALSE(made.remove(1001));
  CHECK(made.threads.size() == 667);
  for (std::uint32_t tid = 1; tid <= 1000; ++tid) {
    const LiveThread* found = made.thread(tid);
    REQUIRE((found != nullptr) == (tid % 3 != 0));
    if (found != nullptr) REQUIRE(found->id == ThreadId{tid});
  }
}

TEST_CASE("threads that were many once are found and removed, also those that came since") {
  LiveProcess made = process(1, 1);
  for (std::uint32_t tid = 2; tid <= 100; ++tid) made.add({ThreadId{tid}, tid, {}});
  for (std::uint32_t tid = 50; tid <= 100; ++tid) REQUIRE(made.remove(tid));
  made.add({ThreadId{200}, 200, {}});
  REQUIRE(made.thread(200) != nullptr);
  CHECK(made.thread(200)->id == ThreadId{200});
  CHECK(made.remove(200));
  CHECK(made.thread(200) == nullptr);
  CHECK(made.threads.size() == 49);
  for (std::uint32_t tid = 1; tid < 50; ++tid) REQUIRE(made.remove(tid));
  CHECK(made.threads.empty());
}

TEST_CASE("an exit before its birth is known once") {
  EarlyExits exits;
  const Nanos at = std::chrono::seconds(5);
  exits.add(7, at);
  CHECK(exits.take(7, at - Nanos(1)));
  CHECK_FALSE(exits.take(7, at - Nanos(1)));
  exits.add(7, at);
  CHECK_FALSE(exits.take(7, at + Nanos(1)));  // the next of that number
}

TEST_CASE("a process is announced at its birth with its threads, later at the time of its exec") {
  Machine machine;
  machine.process({100, 1, "python3"});
  ProcessAnnouncer announcer(machine.root());
  LiveProcess made = process(1, 100);
  made.since = std::chrono::seconds(3);
  made.threads[0].since = made.since;
  ProcessWatch watch;
  announcer.readImage(made, watch, false);
  CHECK(made.comm == "python3");
  CHECK(made.startTicks == 1000);
  announcer.announce(made, watch, std::chrono::seconds(5));
  CHECK_FALSE(watch.announced);  // there is nowhere to write yet
  EventList list;
  announcer.setOut(list);
  announcer.announce(made, watch, std::chrono::seconds(5));
  announcer.announce(made, watch, std::chrono::seconds(9));
  REQUIRE(list.events.size() == 3);
  CHECK(list.events[0].at == std::chrono::seconds(3));
  CHECK(list.all<ThreadSeen>().size() == 1);
  CHECK(list.events[2].at == std::chrono::seconds(9));
  CHECK(list.text(list.all<ProcessSeen>()[1].comm) == "python3");
}
