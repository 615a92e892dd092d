// SPDX-License-Identifier: MIT
#pragma once

#include "agent/cupti/cupti_abi.h"

namespace stallprof::agent {

// The two callbacks by which CUPTI gets buffers from us and returns them.

// On whatever thread of the program is inside CUDA: no lock, no allocation, no system call.
void requestBuffer(std::uint8_t** buffer, std::size_t* size, std::size_t* maxRecords);

// On a thread of CUPTI's or the program's, or on ours during a flush.
void completeBuffer(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size,
                    std::size_t valid);

// The buffers that CUPTI has held since `before`, and since when the oldest of them; `before` where
// there is none. What began earlier has been returned. Times of CLOCK_MONOTONIC.
struct Held {
  std::uint32_t count;
  std::uint64_t since;
};
Held heldBuffers(std::uint64_t before);

// After CUPTI has left the process: the buffers that it still had are free again.
void takeBack();

// Adds what CUPTI has dropped since it was last asked. Never from the first of the callbacks.
void countDropped();

}  // namespace stallprof::agent
