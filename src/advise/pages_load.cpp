// SPDX-License-Identifier: MIT
#include "advise/pages.h"

namespace stallprof {
namespace {

constexpr Page kPages[] = {
    {"load.ipc", R"(load.ipc

Batches are made, but moving them to the trainer (pickle, pipe, unpickle, mapping) takes
  its own time.

Fires when: over 5 % of the window is the trainer's own CPU inside next(), or waiting
  for batches on their way; start-up, and workers without an index (a new pass, a
  prefetch of 1), are not counted.

Fixes:
- Send uint8 and convert after: a quarter of the bytes.
- One tensor a field instead of lists of objects.
- Smaller batches of larger parts: fewer objects to pickle.

When it is wrong: the trainer is slow to wake because cores are short:
  compute.contention shows with it.
)"},
    {"load.no_prefetch", R"(load.no_prefetch

So few batches are made ahead that a single slow one empties the queue.

Fires when: prefetch_factor is 1, or fewer than 4 batches are ahead (prefetch x workers)
  while batch times vary by over 10 %; over 2 % of the window is waited, and the model
  finds a gain.

Fixes:
- Raise prefetch_factor to 4; it costs shared memory for each batch.
- More workers give more batches ahead, too.

When it is wrong: the workers are too slow on average: a longer queue does not add
  capacity, and the model finds no gain.
)"},
    {"load.pageable_copy", R"(load.pageable_copy

Copies to the device start from ordinary memory: the driver copies them twice, and the
  calling thread stands until they are done.

Fires when: most of the copying to the device is from pageable memory, and for over 5 % of
  the window the training thread stands in it, or the device does nothing but copy.

Fixes:
- pin_memory=True in the loader, and .to(device, non_blocking=True).
- Fewer bytes: uint8, converted on the device.

When it is wrong: the copies are of something else than batches (weights that are loaded
  anew); the look at the line they are called from says so.
)"},
    {"load.transfer_bandwidth", R"(load.transfer_bandwidth

The bytes of a batch fill the link to the device.

Fires when: pinned copies run at over 10 GB/s, about what the slowest link beside a current
  device carries, and for over 5 % of the window the device does nothing but copy.

Fixes:
- uint8 or half precision on the way; normalise on the device.
- Fewer bytes: crop on the host; a copy stream that runs a batch ahead.

When it is wrong: the link is shared with another device, or the device is attached with
  fewer lanes than it could.
)"},
    {"load.pin_thread", R"(load.pin_thread

One thread copies every batch into pinned memory, and it is a whole core busy.

Fires when: the loader's pin thread runs for over 90 % of the window while the training thread
  waits for data for over 5 %.

Fixes:
- Smaller dtype.
- Batches pinned where they are made, or no pinning.

When it is wrong: the thread spins rather than copies; or its process holds the
  interpreter's lock elsewhere. The thread is known by the name that PyTorch 2 gives it.
)"},
    {"load.worker_startup", R"(load.worker_startup

The workers end with each pass and are started again: import, dataset copy and the first
  batches are paid every time.

Fires when: starting workers takes over 2 % of the window and persistent_workers is off.

Fixes:
- persistent_workers=True.
- Longer passes: a sampler that repeats the data set.
- fork instead of spawn, lighter imports in the main module.

When it is wrong: the first pass after the window's start is the only one: then there is
  nothing to save later. Datasets changed between passes need new workers.
)"},
    {"load.worker_memory", R"(load.worker_memory

The workers' memory, or /dev/shm, is on the way to full: the run would be killed or die
  with a bus error.

Fires when: workers grew by over 10 % and 64 MB, and at that pace memory is used up
  within a day; or under 10 % of /dev/shm was left.

Fixes:
- Keep the index in one array instead of Python objects (each read copies its page).
- Fewer workers, smaller prefetch_factor.
- More shared memory for the container (--shm-size).

When it is wrong: growth levels off, as caches and allocators do: two points make a
  straight line. Watch a longer run.
)"},
};

}  // namespace

std::span<const Page> loadPages() { return kPages; }

}  // namespace stallprof
