// SPDX-License-Identifier: MIT
#pragma once

#include <semaphore.h>

// What a test and the fake library share: memory of both processes.
struct FakeGetNext {
  sem_t work, element, done;  // a get-next is asked for, its element is there, it has returned
};
// Runs one worker's loop, for good.
using FakeWorker = void (*)(FakeGetNext*);
