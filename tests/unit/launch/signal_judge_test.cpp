// SPDX-License-Identifier: MIT
#include "launch/process/signal_judge.h"

#include <csignal>

#include "tests/catch.h"

using namespace stallprof;
using std::chrono::milliseconds;

namespace {

constexpr std::uint32_t kCommand = 100, kStranger = 7;
constexpr Nanos kStart = std::chrono::seconds(1000);

// The world around the judge: a clock, a witness, and the signals sent.
struct World {
  SignalJudge judge;
  WitnessCounts witness;
  Nanos time = kStart;

  World() { witness.alive = true; }
  void toFront(int signal, std::uint32_t sender = kStranger) {
    ReceivedSignal received;
    received.signal = signal;
    received.sender = sender;
    judge.receive(received, time, kCommand);
  }
  void toWitness(int signal) { ++witness.count[static_cast<std::size_t>(signal)]; }
  // Decides every millisecond until `wait` has passed; how many were passed on to the command.
  int forwardedWithin(Nanos wait) {
    int forwarded = 0;
    for (const Nanos end = time + wait; time <= end; time += milliseconds(1))
      for (const auto& verdict : judge.decide(witness, time)) forwarded += verdict.forward ? 1 : 0;
    return forwarded;
  }
};

}  // namespace

TEST_CASE("a signal that only the front got is passed on once, within 60 ms") {
  World world;
  world.toFront(SIGTERM);
  CHECK(world.forwardedWithin(milliseconds(49)) == 0);
  CHECK(world.forwardedWithin(milliseconds(10)) == 1);
  CHECK(world.forwardedWithin(milliseconds(500)) == 0);
  CHECK_FALSE(world.judge.waiting());
}

TEST_CASE("a signal to the whole group is not passed on, whoever sees it first") {
  World world;
  SECTION("the witness first") {
    world.toWitness(SIGINT);
    world.toFront(SIGINT);
  }
  SECTION("the front first, the witness 20 ms later") {
    world.toFront(SIGINT);
    CHECK(world.forwardedWithin(milliseconds(20)) == 0);
    world.toWitness(SIGINT);
  }
  CHECK(world.forwardedWithin(milliseconds(500)) == 0);
}

TEST_CASE("what came to the whole group is said to be so, once, for a command that has left it") {
  World world;
  world.toFront(SIGTERM);  // `timeout`: to its child, then to the group
  world.toFront(SIGTERM);
  world.toWitness(SIGTERM);
  int byGroup = 0;
  for (const auto& verdict : world.judge.decide(world.witness, world.time))
    byGroup += verdict.byGroup ? 1 : 0;
  CHECK(byGroup == 1);
  CHECK(world.forwardedWithin(milliseconds(500)) == 0);
}

TEST_CASE("what the witness had before does not speak of a later signal to the front alone") {
  World world;
  world.toWitness(SIGTERM);
  SECTION("long before") { CHECK(world.forwardedWithin(milliseconds(200)) == 0); }
  SECTION("before the command existed") { world.judge.begin(world.witness); }
  world.toFront(SIGTERM);
  CHECK(world.forwardedWithin(milliseconds(60)) == 1);
}

TEST_CASE("a signal to the group while front or witness stands still comes once") {
  World world;
  SECTION("the front") {
    world.toWitness(SIGTERM);
    world.time += milliseconds(500);
    world.toFront(SIGTERM);
  }
  SECTION("the witness, at which it is pending") {
    world.toFront(SIGTERM);
    world.witness.pending = signalBit(SIGTERM);
    CHECK(world.forwardedWithin(milliseconds(500)) == 0);
    world.witness.pending = 0;
    world.toWitness(SIGTERM);
  }
  CHECK(world.forwardedWithin(milliseconds(500)) == 0);
  CHECK_FALSE(world.judge.waiting());
  world.toFront(SIGTERM);
  CHECK(world.forwardedWithin(milliseconds(60)) == 1);
}

TEST_CASE("a SIGCONT may reach the command a window later: until then its stop is no news") {
  World world;
  CHECK_FALSE(world.judge.resuming(world.time));
  world.toFront(SIGCONT);
  CHECK(world.judge.resuming(world.time));
  SECTION("to the group") { world.toWitness(SIGCONT); }
  SECTION("to the front alone") {}
  CHECK(world.forwardedWithin(milliseconds(30)) == 0);
  CHECK(world.judge.resuming(world.time));
  CHECK(world.judge.waiting());  // it asks on, as a stop may be news then
  (void)world.forwardedWithin(milliseconds(30));
  CHECK_FALSE(world.judge.resuming(world.time));
  CHECK_FALSE(world.judge.waiting());
}

TEST_CASE("SIGCONT takes back a stop that waits, and a stop SIGCONT") {
  World world;
  SECTION("to the front alone, then to all") {
    world.toFront(SIGTSTP);
    CHECK(world.forwardedWithin(milliseconds(20)) == 0);
    world.toFront(SIGCONT);
    world.toWitness(SIGCONT);
  }
  SECTION("the reverse") {
    world.toFront(SIGCONT);
    CHECK(world.forwardedWithin(milliseconds(20)) == 0);
    world.toFront(SIGTSTP);
    world.toWitness(SIGTSTP);
  }
  CHECK(world.forwardedWithin(milliseconds(200)) == 0);
  CHECK_FALSE(world.judge.waiting());
}

TEST_CASE("of a stop and a SIGCONT to the front alone the last counts") {
  World world;
  world.toFront(SIGTSTP);
  world.toFront(SIGTERM);
  world.toFront(SIGCONT);
  CHECK(world.forwardedWithin(milliseconds(60)) == 2);
}

TEST_CASE("a SIGCONT to the front alone right after one to all is passed on") {
  World world;
  world.toFront(SIGCONT);
  world.toWitness(SIGCONT);
  CHECK(world.forwardedWithin(milliseconds(2)) == 0);
  world.toFront(SIGCONT);
  CHECK(world.forwardedWithin(milliseconds(60)) == 1);
}

TEST_CASE("what we send to the witness alone does not stand for a signal to the front alone") {
  World world;
  world.toFront(SIGCONT);
  CHECK(world.forwardedWithin(milliseconds(60)) == 1);
  world.judge.sentToWitness(SIGCONT);
  world.toWitness(SIGCONT);
  world.toFront(SIGCONT);
  CHECK(world.forwardedWithin(milliseconds(60)) == 1);
}

TEST_CASE("of two from the terminal while the witness stands still neither is passed on") {
  World world;
  ReceivedSignal typed;
  typed.signal = SIGINT;
  typed.fromKernel = true;
  world.judge.receive(typed, world.time, kCommand);
  world.witness.pending = signalBit(SIGINT);
  CHECK(world.forwardedWithin(milliseconds(200)) == 0);
  world.judge.receive(typed, world.time, kCommand);  // merges with the first at the witness
  CHECK(world.forwardedWithin(milliseconds(200)) == 0);
  world.witness.pending = 0;
  world.toWitness(SIGINT);
  CHECK(world.forwardedWithin(milliseconds(200)) == 0);
  CHECK_FALSE(world.judge.waiting());
}

TEST_CASE("a second signal to the group that merges with the first at the witness comes once") {
  World world;
  world.toFront(SIGTERM);
  world.witness.pending = signalBit(SIGTERM);
  CHECK(world.forwardedWithin(milliseconds(75)) == 0);
  world.toFront(SIGTERM);
  SECTION("it stands still") { CHECK(world.forwardedWithin(milliseconds(100)) == 0); }
  world.witness.pending = 0;
  world.toWitness(SIGTERM);  // one for both
  CHECK(world.forwardedWithin(milliseconds(100)) == 0);
  CHECK_FALSE(world.judge.waiting());
  world.toFront(SIGTERM);  // the witness is up to date again: one to the front alone
  CHECK(world.forwardedWithin(milliseconds(60)) == 1);
}

TEST_CASE(
    "of two signals to the group the first may be read long before the second and both counted") {
  World world;
  world.toFront(SIGTERM);
  world.time += milliseconds(80);  // the front has read it, and then has no CPU to decide
  world.toWitness(SIGTERM);
  world.toWitness(SIGTERM);
  CHECK(world.forwardedWithin(milliseconds(1)) == 0);
  world.toFront(SIGTERM);
  CHECK(world.forwardedWithin(milliseconds(200)) == 0);
  world.toFront(SIGTERM);
  CHECK(world.forwardedWithin(milliseconds(60)) == 1);
}

TEST_CASE("a witness that is taking a signal is waited for, not without end") {
  World world;
  world.witness.taking = true;
  world.toFront(SIGTERM);
  CHECK(world.forwardedWithin(milliseconds(400)) == 0);
  SECTION("it counts one") {
    world.witness.taking = false;
    world.toWitness(SIGTERM);
    CHECK(world.forwardedWithin(milliseconds(500)) == 0);
  }
  SECTION("it hangs") { CHECK(world.forwardedWithin(milliseconds(200)) == 1); }
}

TEST_CASE("a group signal followed by one to the front alone gives one forward") {
  World world;
  world.toFront(SIGUSR1);
  world.toWitness(SIGUSR1);
  CHECK(world.forwardedWithin(milliseconds(25)) == 0);
  world.toFront(SIGUSR1);
  CHECK(world.forwardedWithin(milliseconds(100)) == 1);
}

TEST_CASE("a sender that signals the front and at once all, or the reverse, has sent it once") {
  World world;
  SECTION("the front read the first before the second came") {
    world.toFront(SIGTERM);
    CHECK(world.forwardedWithin(milliseconds(2)) == 0);
    world.toFront(SIGTERM);
    world.toWitness(SIGTERM);
  }
  SECTION("all first") {
    world.toWitness(SIGTERM);
    world.toFront(SIGTERM);
    CHECK(world.forwardedWithin(milliseconds(2)) == 0);
    world.toFront(SIGTERM);
  }
  CHECK(world.forwardedWithin(milliseconds(100)) == 0);
  world.toFront(SIGTERM);
  CHECK(world.forwardedWithin(milliseconds(100)) == 1);
}

TEST_CASE("of two sent at once the second may be read late: the front had no CPU in between") {
  World world;
  world.toWitness(SIGTERM);
  world.toFront(SIGTERM);
  CHECK(world.forwardedWithin(milliseconds(2)) == 0);
  CHECK(world.judge.waiting());  // it asks on, so that it knows when a later one came
  SECTION("for a moment") {
    world.time += milliseconds(50);
    world.toFront(SIGTERM);
    CHECK(world.forwardedWithin(milliseconds(100)) == 0);
  }
  SECTION("for longer than a window") {
    world.time += milliseconds(400);
    world.toFront(SIGTERM);
    CHECK(world.forwardedWithin(milliseconds(100)) == 0);
  }
  SECTION("for longer than that: it may be another") {
    world.time += milliseconds(600);
    world.toFront(SIGTERM);
    CHECK(world.forwardedWithin(milliseconds(100)) == 1);
  }
  CHECK_FALSE(world.judge.waiting());
}

TEST_CASE("two senders, one to all and one to the front, are two signals") {
  World world;
  world.toWitness(SIGTERM);
  world.toFront(SIGTERM);
  world.toFront(SIGTERM, kStranger + 1);
  CHECK(world.forwardedWithin(milliseconds(100)) == 1);
}

TEST_CASE("one merged signal at the front stands for two at the witness") {
  World world;
  world.toWitness(SIGTERM);
  world.toWitness(SIGTERM);
  world.toFront(SIGTERM);
  CHECK(world.forwardedWithin(milliseconds(60)) == 0);
  world.toFront(SIGTERM);
  CHECK(world.forwardedWithin(milliseconds(60)) == 1);
}

TEST_CASE("real-time signals are counted one by one") {
  World world;
  const int signal = SIGRTMIN + 3;
  for (int i = 0; i < 3; ++i) world.toFront(signal);
  for (int i = 0; i < 2; ++i) world.toWitness(signal);
  CHECK(world.forwardedWithin(milliseconds(60)) == 1);
}

TEST_CASE("what the command itself sends is never sent back to it") {
  World world;
  world.toFront(SIGTERM, kCommand);
  CHECK_FALSE(world.judge.waiting());
}

TEST_CASE("without a witness the terminal and our own group are left alone") {
  World world;
  world.witness.alive = false;
  ReceivedSignal signal;
  signal.signal = SIGINT;
  SECTION("from the terminal") { signal.fromKernel = true; }
  SECTION("from our own group") { signal.senderInGroup = true; }
  world.judge.receive(signal, world.time, kCommand);
  CHECK(world.forwardedWithin(milliseconds(1)) == 0);
  CHECK_FALSE(world.judge.waiting());
  world.toFront(SIGINT);
  CHECK(world.forwardedWithin(milliseconds(1)) == 1);
}

TEST_CASE("a witness that dies while a signal waits does not swallow it") {
  World world;
  world.toFront(SIGTERM);
  CHECK(world.forwardedWithin(milliseconds(10)) == 0);
  world.witness.alive = false;
  CHECK(world.forwardedWithin(milliseconds(1)) == 1);
}
