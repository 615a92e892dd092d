// SPDX-License-Identifier: MIT
#include "advise/pages.h"

namespace stallprof {
namespace {

constexpr Page kPages[] = {
    {"compute.device_bound", R"(compute.device_bound

Healthy: the device is busy with the training, and nothing else gains 5 %.

Fires when: a device timeline shows it busy, and no fix is predicted to gain 5 %.

Fixes:
- Lower precision, a compiled model, larger batches, a faster device.

When it is wrong: the device runs many tiny kernels: then it is launch bound.

This version does not look for it yet.
)"},
    {"compute.cpu_bound", R"(compute.cpu_bound

Healthy, as far as the pipeline goes: the step's own work sets the pace, and no change
  to data loading, saving or the host is predicted to gain 5 %.

Fires when: steps were seen and no finding has a fix worth 5 %.

Fixes:
- Leave the loader alone.
- Make the step cheaper: lower precision, torch.compile, a smaller model, a device.

When it is wrong: a device's work is seen only as the trainer's waiting, since no device
  timeline is recorded yet; then compute also holds what the device spends idle. A loop
  that reads its data without a loader counts as compute, too.
)"},
    {"compute.launch_bound", R"(compute.launch_bound

The device waits for the host to launch its next kernel.

Fires when: gaps on the device coincide with launches on the host.

Fixes:
- torch.compile or CUDA graphs.
- Larger batches, fused optimizers.

When it is wrong: the host is starved of cores: compute.contention comes first.

This version does not look for it yet.
)"},
    {"compute.sync_points", R"(compute.sync_points

The host waits for the device in every step: .item(), .cpu(), printing a loss.

Fires when: waits on the device outside next() take over 3 % of the step, each step.

Fixes:
- Log every N steps; keep values on the device.

When it is wrong: the wait is where the device's real work is paid; removing it moves
  the time elsewhere.

This version does not look for it yet.
)"},
    {"compute.underfilled", R"(compute.underfilled

The device is busy, but with kernels too small to fill it.

Fires when: busy time is high while occupied units are few.

Fixes:
- Larger batches; fused kernels.

When it is wrong: memory does not allow more.

This version does not look for it yet.
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
