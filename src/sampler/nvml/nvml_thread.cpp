// SPDX-License-Identifier: MIT
#include "sampler/nvml/nvml_thread.h"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace stallprof {
namespace {

// 16 devices for 50 seconds: as long as a full disk may hold up who takes.
constexpr std::size_t kMax = 4096;

template <class T>
void append(std::vector<T>& to, std::vector<T>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

struct NvmlThread::Shared {
  std::mutex mutex;
  std::condition_variable wake;
  Found found;
  bool stop = false;
  std::atomic<Nanos::rep> busySince{0};
};

NvmlThread::NvmlThread(std::vector<std::string> libraries) : shared_(std::make_shared<Shared>()) {
  sigset_t all, before;  // signals are for the thread that waits for them
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread(loop, shared_, std::move(libraries)).detach();
    started_ = true;
  } catch (const std::system_error&) {  // no thread to be had
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

NvmlThread::~NvmlThread() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->stop = true;
  }
  shared_->wake.notify_one();
}

NvmlThread::Found NvmlThread::take() {
  const std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->found, {});
}

Nanos NvmlThread::busySince() const { return Nanos(shared_->busySince.load()); }

void NvmlThread::loop(const std::shared_ptr<Shared>& shared, std::vector<std::string> libraries) {
  pthread_setname_np(pthread_self(), "stallprof-gpu");
  NvmlWatch watch(std::move(libraries));
  std::unique_lock lock(shared->mutex);
  while (!shared->stop) {
    lock.unlock();
    NvmlFindings findings;
    shared->busySince = now().count();
    const Nanos next = watch.step(now(), findings);
    shared->busySince = 0;
    lock.lock();
    NvmlFindings& kept = shared->found.findings;
    append(kept.devices, findings.devices);
    append(kept.states, findings.states);
    if (kept.usages.size() + kept.processes.size() < kMax) {
      append(kept.usages, findings.usages);
      append(kept.processes, findings.processes);
    } else {
      shared->found.dropped += findings.usages.size() + findings.processes.size();
    }
    // steady_clock is CLOCK_MONOTONIC in glibc's and musl's C++ libraries, as now() is.
    shared->wake.wait_until(lock, std::chrono::steady_clock::time_point(next),
                            [&] { return shared->stop; });
  }
}

}  // namespace stallprof
