// SPDX-License-Identifier: MIT
#include "recording/sync_thread.h"

#include <pthread.h>
#include <signal.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace stallprof {

SyncThread::SyncThread(Storage& storage) : storage_(storage) {
  sigset_t all, before;  // signals are for the thread that waits for them
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { loop(); });
  } catch (const std::system_error&) {  // no thread to be had: the kernel writes back on its own
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

SyncThread::~SyncThread() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void SyncThread::request(std::shared_ptr<const Fd> file) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty() || waiting_.back() != file) waiting_.push_back(std::move(file));
  }
  wake_.notify_one();
}

void SyncThread::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stop_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const auto file = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    const int error = storage_.sync(file->get());
    // EINVAL: a file that cannot be synced (a pipe, some FUSE) is as good as synced.
    if (error != 0 && error != EINVAL) error_ = error;
    lock.lock();
  }
}

}  // namespace stallprof
