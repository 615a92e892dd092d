// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "base/fd.h"
#include "recording/storage.h"

namespace stallprof {

// fdatasync on a thread of its own: a disk that takes seconds holds up nobody. Files are synced in
// the order of their requests, so that what is safe has no hole; one that waits already is not
// asked for twice. Without a thread (none could be made) nothing is synced.
class SyncThread {
 public:
  explicit SyncThread(Storage& storage);  // must outlive this
  ~SyncThread();                          // waits for the sync that runs, and does those asked for

  void request(std::shared_ptr<const Fd> file);
  // The errno of a sync that failed since the last call, else 0. What such a file lacks on the disk
  // is not known, and asking again would hide it: the caller goes on in another file.
  [[nodiscard]] int takeError() { return error_.exchange(0); }

 private:
  void loop();

  Storage& storage_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<const Fd>> waiting_;
  bool stop_ = false;
  std::atomic<int> error_{0};
  std::thread thread_;
};

}  // namespace stallprof
