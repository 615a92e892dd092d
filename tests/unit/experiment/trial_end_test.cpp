// SPDX-License-Identifier: MIT
#include "experiment/trial_end.h"

#include "tests/unit/analysis/text_trace.h"

using namespace stallprof;

namespace {

// Updates from second 1 to 11, then what `rest` names; by TERM of the 20 seconds, at 21.2 s.
TrialEnd endWith(const std::string& rest, const std::string& end = "21.2s") {
  return endOfTrial(
      test::traceOf(test::kTrainer + test::kWorker +
                    "repeat 101 every 100ms\n"
                    "1s optimizer thread=1 duration=5ms optimizer=1\n"
                    "950ms slice thread=1 duration=100ms run=90ms samples=10 wait=running\n"
                    "end\n" +
                    rest + end + " command_end exit_code=-1 signal=15\n"),
      ThreadId{1}, 20);
}

// A thread asleep from 11 s to 21 s, with so many ms of CPU in each second.
std::string asleep(int thread, const std::string& cpu) {
  return "repeat 10 every 1s\n11.05s slice thread=" + std::to_string(thread) +
         " duration=1s run=" + cpu + " samples=10 wait=futex\nend\n";
}

}  // namespace

TEST_CASE("a run whose processes wait at the end of its seconds stands still") {
  const TrialEnd end = endWith(asleep(1, "20us") + asleep(2, "20us"));
  CHECK(end.silent == Approx(9.995));
  CHECK(end.still);
  CHECK(tooSilent(end, 0, 20));
  // What the last steps took lies in a slice that reaches beyond them.
  CHECK(endWith("10.5s slice thread=1 duration=4s run=20ms samples=40 wait=futex\n").still);
  CHECK(!endWith("10.5s slice thread=1 duration=12s run=12s samples=40 wait=running\n").still);
}

TEST_CASE("a run that ended by itself before its seconds were over is not silent") {
  const TrialEnd end = endWith(asleep(1, "20us"), "20.9s");
  CHECK(end.silent == 0);
  CHECK(!tooSilent(end, 0, 20));
}

TEST_CASE("one that evaluates by TERM does not stand still, though it may sleep in between") {
  CHECK(!endWith(asleep(1, "4ms")).still);
  CHECK(!endWith(asleep(1, "20us") + asleep(2, "900ms")).still);
}

TEST_CASE("batches, evaluations and saves are no silence") {
  const std::string span = " span thread=1 duration=8s phase=periodic source=hook name=";
  CHECK(endWith("11.1s" + span + "\"evaluation\"\n").silent == Approx(1.9));
  CHECK(endWith("11.1s" + span + "\"torch.save\"\n").silent == Approx(1.9));
  CHECK(endWith("12s fetch thread=1 duration=6s batch=1\n").silent == Approx(3));
}

TEST_CASE(
    "how long a run of the command as it is was silent excuses no fix beyond half of its time") {
  const TrialEnd silent{5.5, true};
  CHECK(tooSilent(silent, 3.1, 6));  // twice the base's would be longer than the window
  CHECK(!tooSilent({4, true}, 2, 20));
  CHECK(!tooSilent({6, true}, 3, 20));
  CHECK(tooSilent({8, true}, 3, 20));
}
