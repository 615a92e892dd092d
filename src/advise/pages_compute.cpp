// SPDX-License-Identifier: MIT
#include "advise/pages.h"

namespace stallprof {
namespace {

constexpr Page kPages[] = {
    {"compute.device_bound", R"(compute.device_bound

Healthy: the device is busy with the training, and nothing else gains 5 %.

Fires when: no fix is predicted to gain 5 %, and the device was busy for 80 % of the traced
  time. Without a timeline of it, when the monitoring library (NVML) says 90 %, with medium
  confidence at most.

Fixes:
- Lower precision (bf16, TF32), torch.compile, channels-last, fused attention.
- A smaller model, a faster device, more devices.

When it is wrong: busy is not the same as well used: kernels too small to fill it are
  compute.underfilled, and a collective that waits for other ranks is busy, too. NVML counts
  any kernel, of any process.
)"},
    {"compute.cpu_bound", R"(compute.cpu_bound

Healthy, as far as the pipeline goes: the step's own work sets the pace, and no change
  to data loading, saving or the host is predicted to gain 5 %.

Fires when: steps were seen and no finding has a fix worth 5 %.

Fixes:
- Leave the loader alone.
- Make the step cheaper: lower precision, torch.compile, a smaller model, a device.

When it is wrong: a device was used, and its timeline was not recorded (coverage says so):
  its work is then seen only as the trainer's waiting, and compute also holds what the device
  spends idle. A loop that reads its data without a loader counts as compute, too.
)"},
    {"compute.launch_bound", R"(compute.launch_bound

The device waits for the host to launch its next kernel.

Fires when: over 5 % of the traced time the device is idle in gaps under 1 ms while the
  training thread works: it neither waits for data nor stands in a copy or a wait for the
  device. Not where that thread lacks a core for half as long.

Fixes:
- torch.compile(mode="reduce-overhead") or CUDA graphs: one launch for many kernels.
- Fused or foreach optimizers, fewer small operators.
- Larger batches, where the device's memory has room (the advice says how much).

When it is wrong: tracing each kernel makes each launch a little dearer; the report's
  sources say what it cost. The host is starved of cores: compute.contention comes first.
  Gaps of 1 ms and more are the host's own work, not launching: they are idle.host.
)"},
    {"compute.sync_points", R"(compute.sync_points

The host waits for the device in every step (.item(), .cpu(), printing a loss), so the
  device runs dry each time and stands still until it is given work again.

Fires when: over 3 % of the traced time the device is idle after such a wait, or during one,
  and there is one in at least every second step. Only waits of 100 us and more are known.

Fixes:
- Log every N steps; keep values on the device.
- No nonzero(), boolean indexing or tensor-dependent control flow in the step.

When it is wrong: the wait itself is where the device's real work is paid: it is compute, and
  removing it gains only the idle time behind it. That is all the prediction counts.
)"},
    {"compute.underfilled", R"(compute.underfilled

The device is busy, but with kernels too small to fill it.

Fires when: it is busy for over half of the traced time, and its kernels have blocks for less
  than half of its multiprocessors (weighted by time), or the hardware's own counter (GPM, from
  Hopper on) finds less than half of them active.

Fixes:
- Larger batches, where memory has room.
- Fused kernels: torch.compile, fused attention and optimizers.

When it is wrong: memory does not allow more; kernels of several streams fill it together,
  which the grids alone do not show.
)"},
    {"compute.python_overhead", R"(compute.python_overhead

The trainer's own Python takes a large part of the step.

Fires when: in over 20 % of all looks at the training thread (at the low end of a 90 %
  interval) it runs a line of its own with the interpreter's lock held and no library's
  Python below. Operators that work long release the lock and do not count.

Fixes:
- Vectorise loops over samples; move metrics out of the step; torch.compile.

When it is wrong: the line calls C code that keeps the lock (small array operations, an
  extension module): then it is that call which takes the time.
)"},
    {"compute.contention", R"(compute.contention

The trainer hardly waits for data, and yet loses time: the workers run on the cores that
  its step needs. A look at waiting alone is blind to this.

Fires when: waiting is under 5 % of the window, the trainer is runnable without a core
  for over 5 %, and the workers are busy.

Fixes:
- Make batches cheaper: offline preprocessing, faster decoding.
- Fewer workers, where the model finds that the data still comes in time.
- More cores.

When it is wrong: others use the cores (host.noisy_neighbour), or a CPU limit stops the
  job (host.cpu_throttled).
)"},
};

}  // namespace

std::span<const Page> computePages() { return kPages; }

}  // namespace stallprof
