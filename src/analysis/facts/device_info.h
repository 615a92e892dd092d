// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/facts/source_line.h"
#include "base/text.h"
#include "base/time.h"

namespace stallprof {

// The devices that the trainer used, in its window. Times are of the host's clock.
struct DeviceInfo {
  std::string basis;          // trace | nvml | none: what shows how busy they were
  Maybe<double> tracedRatio;  // of the window, with kernels traced
  bool estimated = false;     // the breakdown of the rest is estimated from that part
  struct TimeRatio {
    double kernels = 0, copies = 0, collectives = 0, idle = 0;  // nothing but copies; nothing but
                                                                // those and collectives
  };
  struct IdleRatio {
    double extract = 0, transform = 0, load = 0, unknown = 0, copy = 0, sync = 0, launch = 0,
           host = 0, comm = 0, checkpoint = 0, evaluation = 0, other = 0;
  };
  struct Device {
    std::string id, name;  // UUID; "NVIDIA H100 80GB HBM3"
    Maybe<std::int64_t> memoryTotal, multiprocessors;
    Maybe<double> busy;
    Maybe<TimeRatio> time;  // sums to 1, of the traced time
    Maybe<IdleRatio> idle;  // sums to time.idle
    Maybe<double> utilization, smActive, occupancy, tensorActive, dramActive, powerWatts, clockMhz,
        maxClockMhz, throttled;  // as the monitoring library says
    Maybe<std::int64_t> memoryFirst, memoryLast, memoryPeak, memoryHeadroom;  // of all processes
  };
  std::vector<Device> devices;
  struct Kernel {
    Untrusted name;
    std::string category;
    std::uint64_t count = 0;
    Nanos time{};
    double ratio = 0;      // of all kernels' time
    Maybe<double> filled;  // by its grid: how many of the multiprocessors had a block
  };
  std::vector<Kernel> kernels;  // most time first
  struct Category {
    std::string name;
    std::uint64_t count = 0;
    Nanos time{};
    double ratio = 0;
  };
  std::vector<Category> categories;  // most time first
  struct Copy {
    std::string kind, memory;
    std::uint64_t count = 0;
    Nanos time{};
    Maybe<std::int64_t> bytes;
    Maybe<double> bytesPerSecond;
  };
  std::vector<Copy> copies;
  struct Call {
    Untrusted name;
    std::string kind;
    std::uint64_t count = 0;
    Nanos time{};
  };
  std::vector<Call> calls;  // most time first
};

}  // namespace stallprof
