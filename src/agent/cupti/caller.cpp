// SPDX-License-Identifier: MIT
#include "agent/cupti/caller.h"

#include <time.h>

#include "agent/cupti/agent.h"
#include "agent/cupti/tick.h"
#include "agent/process/system.h"

namespace stallprof::agent {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000u;
constexpr std::uint64_t kPatience = 5 * kSecond;  // a flush of full buffers takes milliseconds
constexpr std::uint64_t kCheckPeriod = kSecond / 10;

std::atomic<bool> started;
std::atomic<bool> alone;   // without the caller's thread
std::atomic<bool> closed;  // nothing is asked any more: CUPTI hangs, or the process ends
std::atomic<bool> busy;    // somebody is asking
// Plain words, since futexes want them; used through atomic_ref.
std::uint32_t asked, done, wakeTicker;
Order what;

std::uint32_t load(std::uint32_t& word) {
  return std::atomic_ref<std::uint32_t>(word).load(std::memory_order_acquire);
}
void bump(std::uint32_t& word) {
  std::atomic_ref<std::uint32_t>(word).fetch_add(1, std::memory_order_release);
  futexWake(&word);
}

void obey(Order order) {
  switch (order) {
    case Order::kFlush:
      return tick();
    case Order::kTurn:
      return turn();
    case Order::kRelease:
      return release();
    case Order::kRetake:
      return retake();
    case Order::kFinish:
      return finish();
  }
}

void callerThread() {
  while (!agent.off.load()) {
    const std::uint32_t number = load(done);
    if (load(asked) == number) {
      futexWait(&asked, number, 60 * kSecond);
      continue;
    }
    obey(what);
    bump(done);
  }
}

void tickerThread() {
  std::uint64_t cpu = 0;
  // Soon at first: what a process that dies early leaves behind can be read only once the length
  // of its records is known, and that is known from the first buffer that is returned.
  std::uint64_t wait = kSecond / 20;
  while (!agent.off.load() && !closed.load()) {
    ask(Order::kFlush, kPatience);
    const std::uint64_t now = threadCpuNs();
    publishCpu(now - cpu);
    cpu = now;
    futexWait(&wakeTicker, load(wakeTicker), wait);
    wait = wait * 2 < kSecond ? wait * 2 : kSecond;
  }
}

void nap() {
  const timespec t{0, 1'000'000};
  nanosleep(&t, nullptr);
}

// What is left of a wait, in which a process that was stopped (SIGSTOP, a frozen cgroup) has lost
// one round at most.
class Wait {
 public:
  explicit Wait(std::uint64_t ns) : left_(ns), last_(monotonicNs()) {}
  std::uint64_t left() {
    const std::uint64_t now = monotonicNs(), passed = now - last_;
    last_ = now;
    const std::uint64_t counts = passed < 2 * kCheckPeriod ? passed : kCheckPeriod;
    return left_ = left_ > counts ? left_ - counts : 0;
  }

 private:
  std::uint64_t left_, last_;
};

bool waitForDone(std::uint32_t number, Wait& wait) {
  while (load(done) != number) {
    const std::uint64_t left = wait.left();
    if (left == 0) return false;
    futexWait(&done, number - 1, left < kCheckPeriod ? left : kCheckPeriod);
  }
  return true;
}

void giveUp() {
  closed = true;
  publishWhy(STALLPROF_AGENT_HUNG, 0, "a call into CUPTI did not come back");
}

// Without a thread that could be waited for: what a tool of the program waits for is done here.
bool doAlone(Order order) {
  if (order != Order::kRelease) return false;
  release();
  return true;
}

}  // namespace

bool ask(Order order, std::uint64_t ns) {
  if (!started.load() || closed.load() || agent.off.load()) return false;
  if (alone.load()) return doAlone(order);
  Wait wait(ns);
  for (bool no = false; !busy.compare_exchange_weak(no, true); no = false) {
    if (closed.load()) return false;
    if (wait.left() == 0) {
      if (order == Order::kFinish) giveUp();  // the call before ours still has not come back
      return false;
    }
    nap();
  }
  what = order;
  const std::uint32_t number = load(asked) + 1;
  bump(asked);
  const bool inTime = waitForDone(number, wait);
  if (!inTime) giveUp();  // and stay busy, as after the last: nothing is asked again
  if (order == Order::kFinish) closed = true;
  if (!closed.load()) busy = false;
  return inTime;
}

void startCaller() {
  if (started.exchange(true)) return;
  if (startThread(callerThread, "stallprof-gpu") && startThread(tickerThread, "stallprof-tick"))
    return;
  alone = true;
  publishWhy(STALLPROF_AGENT_REFUSED, 0, "no thread could be started");
}

void flushSoon() { bump(wakeTicker); }

}  // namespace stallprof::agent
