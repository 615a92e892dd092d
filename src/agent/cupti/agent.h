// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>

#include "agent/cupti/area.h"
#include "agent/cupti/libcupti.h"
#include "agent/cupti/names.h"

namespace stallprof::agent {

// What the agent of this process knows. Zero until InitializeInjection, and no constructor runs:
// the library may be loaded into a process that never uses a GPU.
struct Agent {
  Area memory;
  Cupti cupti;
  SubscriberHandle subscriber;
  Names names;
  std::atomic<bool> off;          // forked child, refused, or hung: touch nothing any more
  std::atomic<bool> attached;     // subscribed: the callbacks may come
  std::atomic<bool> paused;       // not attached, between two windows
  std::atomic<std::uint32_t> on;  // STALLPROF_ON_..., as enabled
  std::uint32_t wanted;           // the most of it that the user wants
  bool leaves;                    // CUPTI can leave the process
  bool continuous;                // no windows, whatever it costs
  std::atomic<bool> waits;        // for the first window, before which nothing is recorded
  // Nothing is switched any more: the program has CUDA graphs, or threads that use CUDA and were
  // heard before the first window.
  std::atomic<bool> kept;
  std::atomic<bool> hearing;          // all its calls are called back, before that
  std::atomic<std::uint32_t> turner;  // which thread asks for a window to begin or end: its inner
                                      // number
  bool tookTurns;  // with another profiler of the program, which may stay subscribed
  // Counts since the start.
  std::atomic<std::uint64_t> kernels, invalid, calls;  // records; invalid: kernels of no time
  std::atomic<std::uint64_t> taken, delivered;         // buffers given to CUPTI, and returned
  std::atomic<std::uint64_t> heard;                    // calls that leave a record, as called back
};
extern Agent agent;

// Not 0: a window is to begin or to end, at the next call of stallprof_agent_turn().
std::atomic_ref<std::uint32_t> turnDue();

// As run --gpu=windows has it, and CUPTI can.
bool onlyInWindows();
// Of such a process, once it has a context.
inline constexpr char kNoWindow[] =
    "no window: one begins at an update of a PyTorch model, after 20 of them and 5 s, on one "
    "device, without a process group, CUDA graphs or other threads that use CUDA; run --gpu "
    "records the rest";
// Of one in which a window is open that does not end; else nothing.
void publishNoEnd();

// Sets state, `why` and `error` of the area, when there is one.
void publishWhy(stallprof_agent_state state, CuptiResult error, const char* why,
                const char* more = "");

}  // namespace stallprof::agent
