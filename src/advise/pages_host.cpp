// SPDX-License-Identifier: MIT
#include "advise/pages.h"

namespace stallprof {
namespace {

constexpr Page kPages[] = {
    {"host.memory_pressure", R"(host.memory_pressure

The host is short of memory: pages are swapped or reclaimed while the job runs, and
  anything may stall.

Fires when: tasks waited for memory over 5 % of the window (PSI), or over 10 pages a
  second were swapped.

Fixes:
- Fewer workers, smaller prefetch_factor or batch.
- More memory, or another host.

When it is wrong: PSI counts the whole host: the pressure may be another job's. Its cost
  for this job is not predicted.
)"},
    {"host.cpu_throttled", R"(host.cpu_throttled

The container's CPU limit stops all of the job's threads for the rest of each period
  once its quota is used.

Fires when: throttled time is over 2 % of the window.

Fixes:
- Raise the limit.
- Fewer workers and threads, so that bursts fit the quota.

When it is wrong: short bursts are throttled while the mean is below the limit: then a
  longer period helps more than a larger quota.
)"},
    {"host.noisy_neighbour", R"(host.noisy_neighbour

Other programs use the CPU, so the same run takes another time today and tomorrow.

Fires when: others and the hypervisor used over 5 % of the usable cores. Intervals widen
  by as much and confidence drops; the verdict is withheld only where it exceeds the
  margin between the first two findings.

Fixes:
- Repeat on a quiet host, or pin the job to cores of its own.

When it is wrong: helpers of the job that were not recognised as its own count as
  others.
)"},
    {"host.gpu_throttled", R"(host.gpu_throttled

The device's clocks are held down by heat or power.

Fires when: for over 5 % of the window the monitoring library (NVML) gives a reason (power cap,
  heat, power brake, hardware slowdown), and the clock meanwhile is under 95 % of its highest.

Fixes:
- Power limit (nvidia-smi -pl), cooling, placement.

When it is wrong: a device at its power limit is in order where the limit is what was bought;
  and kernels that wait for memory gain nothing from a higher clock.
)"},
};

}  // namespace

std::span<const Page> hostPages() { return kPages; }

}  // namespace stallprof
