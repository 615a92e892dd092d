// SPDX-License-Identifier: MIT
#pragma once

#include <semaphore.h>

#include <atomic>

// What a test and the fake library share: memory of both processes.
struct FakeGetNext {
  sem_t work, element, done;  // a get-next is asked for, its element is there, it has returned
  // The worker goes on running where it is asked to, and says that it does.
  enum Place : int { kNowhere, kFetching, kComputing };
  std::atomic<int> blockFor{kNowhere}, weight{kNowhere};
};
// Runs one worker's loop, for good.
using FakeWorker = void (*)(FakeGetNext*);
