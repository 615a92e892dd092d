// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace stallprof::agent {

// What the caller does, each when asked; on its thread alone.
void tick();     // once a second: flush, clock pair, health, whether a window is to begin or end
void turn();     // begins or ends it: no thread of the program is within CUDA
void release();  // another tool is about to want CUPTI
void retake();   // and is done with it
void finish();   // the process is about to end

void publishCpu(std::uint64_t ns);  // CPU time of our own threads, to be added

}  // namespace stallprof::agent
