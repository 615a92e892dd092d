// SPDX-License-Identifier: MIT
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <functional>

#include "sampler/perf_rings/task_events.h"
#include "sampler/processes/process_sampler.h"
#include "sampler/processes/process_tree.h"
#include "sampler/sampler_loop.h"
#include "sampler/thread_sampler.h"
#include "tests/unit/sampler/durations.h"
#include "tests/unit/sampler/event_list.h"

namespace stallprof {

inline void nap(long milliseconds) {
  const timespec pause{milliseconds / 1000, milliseconds % 1000 * 1'000'000};
  ::nanosleep(&pause, nullptr);
}

// A forked child that runs `body` when released, watched as the recorder watches a command.
class LiveJob {
 public:
  explicit LiveJob(const std::function<void()>& body, bool withEvents = true) {
    int go[2] = {-1, -1};
    if (::pipe(go) != 0) ::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      char released = 0;
      ::close(go[1]);
      if (::read(go[0], &released, 1) == 1) body();
      ::_exit(0);
    }
    ::close(go[0]);
    if (withEvents) events.open(pid_);
    tree = std::make_unique<ProcessTree>("/", pid_);
    tree->follow(events);
    threads = std::make_unique<ThreadSampler>("/", *tree);
    processes = std::make_unique<ProcessSampler>("/", *tree);
    for (Sampler* sampler :
         {static_cast<Sampler*>(tree.get()), static_cast<Sampler*>(threads.get()),
          static_cast<Sampler*>(processes.get())})
      loop.add(*sampler);
    loop.setCpuClock([] { return Nanos(0); });  // the test's own work must not slow the samples
    loop.step(now(), list);
    begin = now();
    if (::write(go[1], "x", 1) != 1) ::abort();
    ::close(go[1]);
  }
  LiveJob(const LiveJob&) = delete;
  ~LiveJob() {
    for (const LiveProcess& process : tree->processes())
      if (!tree->gone(process.pid, process.startTicks))
        ::kill(static_cast<pid_t>(process.pid), SIGKILL);
    if (!reaped_) ::waitpid(pid_, nullptr, 0);
  }

  // Watches until the child ends or `maximum` has passed.
  void watch(Nanos maximum) {
    const Nanos until = now() + maximum;
    while (now() < until && !ended()) {
      const Nanos wait = loop.nextDue() - now();
      const timespec pause{0, static_cast<long>(std::max<Nanos::rep>(wait.count(), 0))};
      ::nanosleep(&pause, nullptr);
      loop.step(now(), list);
    }
  }
  void finish() {
    end = now();
    const timespec settle{0, 2'000'000};  // the last task events
    ::nanosleep(&settle, nullptr);
    loop.finish(now(), list);
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

  TaskEvents events;
  std::unique_ptr<ProcessTree> tree;
  std::unique_ptr<ThreadSampler> threads;
  std::unique_ptr<ProcessSampler> processes;
  SamplerLoop loop{100};
  EventList list;
  Nanos begin{}, end{};

 private:
  bool ended() {
    reaped_ = reaped_ || ::waitpid(pid_, nullptr, WNOHANG) == pid_;
    return reaped_;
  }
  pid_t pid_ = -1;
  bool reaped_ = false;
};

}  // namespace stallprof
