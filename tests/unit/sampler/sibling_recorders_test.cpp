// SPDX-License-Identifier: MIT
#include "sampler/host/sibling_recorders.h"

#include <unistd.h>

#include "sampler/host/allowed_cpus.h"
#include "tests/catch.h"
#include "tests/unit/sampler/event_list.h"

using namespace stallprof;

namespace {

constexpr Nanos sec(long n) { return std::chrono::seconds(n); }

struct Recorder {
  Recorder(std::vector<std::string> names, std::string mask)
      : tree("/nowhere", 1),
        cpus("/nowhere"),
        siblings(tree, cpus, std::move(names), "-test" + std::to_string(::getpid())),
        allowed(parseCpuList(mask)) {}
  void exchange(long second, long cpu) { siblings.exchange(sec(second), sec(cpu), allowed); }

  ProcessTree tree;
  AllowedCpus cpus;
  SiblingRecorders siblings;
  CpuMask allowed;
};

// A few rounds: who is there already is found by the list, who comes later says so.
void exchangeAll(std::initializer_list<Recorder*> all, long from, long until) {
  for (long second = from; second <= until; ++second)
    for (int turn = 0; turn < 2; ++turn)
      for (Recorder* one : all) one->exchange(second, second);
}

}  // namespace

TEST_CASE("recorders of one job meet, and count what the others use on their CPUs") {
  Recorder first({"slurm 1.0"}, "0-3"), second({"slurm 1.0", "session 5"}, "2-5");
  Recorder stranger({"session 6"}, "0-7");
  first.exchange(1, 1);
  second.exchange(1, 1);
  stranger.exchange(1, 1);
  exchangeAll({&first, &second, &stranger}, 2, 6);
  CHECK(first.siblings.count() == 1);
  CHECK(second.siblings.count() == 1);
  CHECK(stranger.siblings.count() == 0);
  CHECK(stranger.siblings.cpu() == Nanos(0));
  // Half of the CPUs that the other may use are this one's; what it had before they met is not
  // counted.
  CHECK(first.siblings.cpu() >= std::chrono::milliseconds(1500));
  CHECK(first.siblings.cpu() <= std::chrono::milliseconds(2500));
}

TEST_CASE("a sibling that falls silent is forgotten, and what it used is kept") {
  Recorder first({"torchrun a"}, "0");
  {
    Recorder second({"torchrun a"}, "0");
    exchangeAll({&first, &second}, 1, 4);
    REQUIRE(first.siblings.count() == 1);
  }
  const Nanos used = first.siblings.cpu();
  CHECK(used > Nanos(0));
  for (long second = 5; second < 24; ++second) first.exchange(second, second);
  CHECK(first.siblings.count() == 0);
  CHECK(first.siblings.cpu() == used);
}

TEST_CASE("the names of a job are those its launcher gave, and its session") {
  ::setenv("SLURM_JOB_ID", "42", 1);
  ::setenv("SLURM_STEP_ID", "3", 1);
  ::setenv("TORCHELASTIC_RUN_ID", "none", 1);
  ::setenv("MASTER_PORT", "29500", 1);
  ::unsetenv("WORLD_SIZE");
  const auto names = jobNames();
  for (const char* name : {"SLURM_JOB_ID", "SLURM_STEP_ID", "TORCHELASTIC_RUN_ID", "MASTER_PORT"})
    ::unsetenv(name);
  REQUIRE(names.size() == 2);
  CHECK(names[0] == "slurm 42.3");
  CHECK(names[1].starts_with("session "));
}
