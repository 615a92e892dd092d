// SPDX-License-Identifier: MIT
#include "advise/pages.h"

namespace stallprof {
namespace {

constexpr Page kPages[] = {
    {"transform.in_process", R"(transform.in_process

The loader has no workers: the training process makes each batch itself, and no step is
  computed meanwhile.

Fires when: num_workers is 0 and fetching takes more than 5 % of the window. Without a loader
  that is known, when the training thread's own stacks are in reading and transforming for
  more than 5 %, and no thread beside it makes data.

Fixes:
- num_workers=N with persistent_workers=True; N is chosen by the model within cores and
  memory.
- On a single core: cheaper preprocessing, since workers would share the core.
- A loop without a loader: make the next batch in a thread or process while this one is
  computed.

When it is wrong: batches are tiny (under a millisecond): handing them between processes
  costs more than it saves, and the predicted gain says so. Datasets that cannot be
  pickled need the fork start method. Data on a device cannot be made in workers.
)"},
    {"transform.too_few_workers", R"(transform.too_few_workers

The workers make batches all the time, the trainer waits for them, and cores are idle:
  more workers would use them.

Fires when: more than 5 % of the window is blamed on making batches, more than on
  reading; workers are busy over 70 % of the time or the model gains 5 % with more, and
  the cores are under 90 % in use. Where threads of the training process make the batches
  (tf.data, a prefetch thread): when the step waits for those, and cores are idle.

Fixes:
- Raise num_workers to the number the model found; it never exceeds cores or memory.
- Cheaper preprocessing, where memory for workers is short.

When it is wrong: the idle cores are hyper-threads (worth about a quarter of a core), or
  workers queue for one lock, one disk or the memory bus. A trial with the new number
  tells.
)"},
    {"transform.cpu_saturated", R"(transform.cpu_saturated

Making batches needs more CPU than there is. More workers would only share the same
  cores.

Fires when: more than 5 % of the window is blamed on making batches, and the cores are
  over 90 % in use; with no workers, only when adding them gains under 5 %.

Fixes:
- Do deterministic work once, before training: resize, tokenise, decode.
- Faster decoding (turbo JPEG, draft mode), or work on the device.
- Convert to tensors once, and keep samples as uint8 until the device.
- More cores, by a larger host or a higher limit.

When it is wrong: others use the cores: host.noisy_neighbour says how much. Threads that
  spin for work (OpenMP) look like demand; see transform.oversubscribed.
)"},
    {"transform.slow_op", R"(transform.slow_op

One function takes a large part of the producers' CPU: the place to start.

Fires when: one function is the innermost Python frame in over 30 % of the looks that
  found the producers on a CPU (at the low end of a 90 % interval), and that is over 5 % of
  the window. Time in C below a Python function counts as that function's.

Fixes:
- Vectorise it or use a compiled equivalent.
- Move it to the batch, to the device, or before training.
- Shrink early: crop or resize before what is expensive.

When it is wrong: the function is where samples pile up for another reason, such as a
  lock. A line of your own that calls C directly is named as that line: look at what it
  calls.
)"},
    {"transform.gil_bound", R"(transform.gil_bound

Threads that make batches take turns at Python's global lock: many threads, the work of
  one.

Fires when: two or more Python threads of a process that makes batches want to run, and
  wait for the lock over 25 % of that time (at the low end of a 90 % interval); over 5 %
  of the window is blamed on making batches. Pure Python on n threads waits (n-1)/n.

Fixes:
- Processes instead of threads: num_workers.
- Libraries that release the lock while they work.

When it is wrong: a free-threaded Python has no such lock. The threads that wait are not
  those that make batches: the evidence names the function.
)"},
    {"transform.oversubscribed", R"(transform.oversubscribed

Each worker runs a thread pool (OpenMP, BLAS, OpenCV) as wide as the host. Together they
  have far more runnable threads than cores, and spend time waiting for each other.

Fires when: workers run several threads and use over 1.1 cores each while they make a
  batch, workers and trainer together ask for more cores than there are, and over 5 % of
  the window is waited or starved.

Fixes:
- cv2.setNumThreads(0) or torch.set_num_threads(1) in worker_init_fn.
- OMP_NUM_THREADS=1 (MKL_NUM_THREADS, NUMEXPR_NUM_THREADS): it limits the trainer too.

When it is wrong: the pool's work is all useful and there is little of it; then one
  thread makes each batch slower and the gain is at the low end of the interval. What
  pools burn by spinning is not measured, so the interval is wide.
)"},
    {"transform.stragglers", R"(transform.stragglers

Batches are delivered in order, so one slow batch makes the trainer wait while later
  ones lie ready, and idles the workers behind it.

Fires when: batch times vary by over 30 % (or the slowest takes over 5 times the median)
  and over 5 % of the window is waited with later batches ready.

Fixes:
- in_order=False (PyTorch 2.6): the trainer takes what is ready.
- A larger prefetch_factor rides out single slow batches.
- Find the slow samples: very large images, long texts; bucket by size.

When it is wrong: the slow batches come from the storage or the host (a writeback, a
  neighbour), not from the samples. Order matters to the training: then only prefetch is
  open.
)"},
};

}  // namespace

std::span<const Page> transformPages() { return kPages; }

}  // namespace stallprof
