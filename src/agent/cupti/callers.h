// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace stallprof::agent {

// Which threads of the program call CUDA, by the records of their calls since a window began, and
// before the first by callbacks (tracing.h): CUPTI corrupts a process that it leaves, or in
// which it is switched off, while another thread is within CUDA (13.0.85 on an H200).

// On any thread. Threads by their inner numbers.
void noteCaller(std::uint32_t thread);
// When a window begins.
void forgetCallers();
// Whether another thread than `thread` has called that is not known to rest while a model is
// updated. PyTorch's backward pass is over by then; its thread of pinned memory went well with some
// hundred turns on an H200. True also where it is not known.
bool othersCall(std::uint32_t thread);

}  // namespace stallprof::agent
