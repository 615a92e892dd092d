// SPDX-License-Identifier: MIT
#include "analysis/steps/roles.h"

#include "tests/unit/analysis/text_trace.h"

using namespace stallprof;
using namespace stallprof::test;

namespace {

ThreadId thread(std::uint32_t id) { return ThreadId{id}; }
ProcessId process(std::uint32_t id) { return ProcessId{id}; }
Roles rolesOf(const std::string& text) { return findRoles(traceOf(text)); }

}  // namespace

TEST_CASE("trainer, worker, feeder, pin thread and helpers are distinguished") {
  const Roles roles = rolesOf(
      kTrainer + kWorker +
      "0 thread thread=3 process=1 tid=103 name=\"pt_data_pin\"\n"
      "0 thread thread=4 process=1 tid=104 name=\"python3\"\n"
      "1100ms thread thread=5 process=2 tid=105\n"  // came with the first fetch: a decoder's pool
      "1210ms thread thread=6 process=2 tid=106\n"  // came when the first batch was ready
      "0 process process=3 parent=1 pid=107 comm=\"sh\"\n"
      "0 thread thread=7 process=3 tid=107\n"
      "1s task thread=2 key=5 batch=0 fetch_begin=10ms fetch_end=200ms put_end=201ms\n"
      "1s fetch thread=1 loader=1 epoch=1 duration=250ms batch=0 worker=0\n"
      "1300ms optimizer thread=1 optimizer=1\n");
  CHECK(only(roles.trainers).process == process(1));
  CHECK(roles.trainers[0].thread == thread(1));
  CHECK(roles.of(process(1)) == Role::kTrainer);
  CHECK(roles.of(process(2)) == Role::kWorker);
  CHECK(roles.of(process(3)) == Role::kHelper);
  CHECK(roles.of(thread(1)) == Role::kTrainer);
  CHECK(roles.of(thread(2)) == Role::kWorker);
  CHECK(roles.of(thread(3)) == Role::kPin);
  CHECK(roles.of(thread(4)) == Role::kHelper);
  CHECK(roles.of(thread(5)) == Role::kHelper);
  CHECK(roles.of(thread(6)) == Role::kFeeder);
  CHECK(roles.of(thread(7)) == Role::kHelper);
}

TEST_CASE("a worker is known by its name where the hook did not reach it") {
  const Roles roles =
      rolesOf(kTrainer +
              "0 process process=2 parent=1 pid=102 comm=\"python3\"\n"
              "0 thread thread=2 process=2 tid=102 name=\"pt_data_worker\"\n"
              "1s optimizer thread=2 optimizer=1\n");  // a data set that trains a model: no trainer
  CHECK(roles.of(process(2)) == Role::kWorker);
  CHECK(roles.of(thread(2)) == Role::kWorker);
  CHECK(roles.trainers.empty());
}

TEST_CASE("each rank and each script in turn is a trainer, by order of appearance") {
  const Roles roles = rolesOf(
      "0 process process=2 pid=102\n0 thread thread=2 process=2 tid=102\n"
      "0 process process=3 pid=103\n0 thread thread=3 process=3 tid=103\n"
      "1s optimizer thread=3 optimizer=1\n"
      "2s optimizer thread=2 optimizer=1\n");
  REQUIRE(roles.trainers.size() == 2);
  CHECK(roles.trainers[0].process == process(2));
  CHECK(roles.trainers[1].process == process(3));
}

TEST_CASE("a background thread that fetches ahead is not the trainer, the one that steps is") {
  const Roles roles = rolesOf(kTrainer +
                              "0 thread thread=2 process=1 tid=102\n"
                              "repeat 50 every 10ms\n"
                              "1s fetch thread=2 loader=1 epoch=1 duration=9ms batch=0+1*i\n"
                              "end\n"
                              "1s optimizer thread=1 optimizer=1\n");
  CHECK(only(roles.trainers).thread == thread(1));
}

TEST_CASE("where nothing steps who fetches is the trainer, and of equals the main thread") {
  const std::string threads = kTrainer + "0 thread thread=2 process=1 tid=102\n";
  const std::string both =
      "1s fetch thread=1 batch=0\n"
      "1s fetch thread=2 batch=0\n";
  CHECK(rolesOf(threads + both).trainers.at(0).thread == thread(1));
  const Roles busier = rolesOf(threads + both + "2s fetch thread=2 batch=1\n");
  CHECK(busier.trainers.at(0).thread == thread(2));
  CHECK(rolesOf(threads + "1s fetch thread=1 end=1\n").trainers.empty());
}

TEST_CASE("ids that no life has change nothing and break nothing") {
  const Roles roles = rolesOf(kTrainer +
                              "1s task thread=0 key=5 fetch_end=1ms put_end=1ms\n"
                              "1s task thread=4000000000 key=5 fetch_end=1ms put_end=1ms\n"
                              "1s worker thread=77 key=5\n"
                              "1s fetch thread=4000000000 batch=0\n"
                              "1s optimizer thread=0 optimizer=1\n"
                              "1s thread thread=2 process=4000000000 tid=9\n"
                              "1s optimizer thread=2 optimizer=1\n");
  CHECK(roles.trainers.empty());
  CHECK(roles.of(thread(1)) == Role::kHelper);
  CHECK(roles.of(thread(0)) == Role::kHelper);
  CHECK(roles.of(process(4000000000)) == Role::kHelper);
  CHECK(rolesOf("").trainers.empty());
}
