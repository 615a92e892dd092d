// SPDX-License-Identifier: MIT
#include "advise/pages.h"

namespace stallprof {
namespace {

constexpr Page kPages[] = {
    {"extract.storage_bandwidth", R"(extract.storage_bandwidth

The batches are late because whoever makes them is blocked reading, in reads so large
  that the storage itself is the limit, not the way it is read.

Fires when: more than 5 % of the window is waited for producers blocked on files or
  sockets, reads are not small or scattered, and neither small files nor faults explain
  them. Near the best second of the run (80 %) the confidence is kept; below it, it
  drops one level.

Fixes:
- Keep the data set in memory (tmpfs, page cache) where it fits.
- Copy it to a faster device, such as a local SSD, before training.
- Read fewer bytes: compress where the CPU is free, store smaller originals.
- With one or two workers on a device that is not busy: more workers.

When it is wrong: a shared device was slow because somebody else used it; or the run was
  too short for its best second to mean much. Repeat it on a quiet host, and compare a
  cold pass with a warm one.
)"},
    {"extract.random_access", R"(extract.random_access

The producers wait for many small reads at scattered places. A disk or network mount
  answers each after its latency, so bandwidth stays far below what it could deliver.

Fires when: more than 5 % of the window is blamed on reading, and read calls carry under
  256 kB on average or mapped files cause over 10 major faults a second; small files, if
  seen, are named instead.

Fixes:
- Read sequentially: shards read front to back, shuffled by shard and within a buffer.
- More requests at once: more workers, or threads inside a worker.
- Keep the data set, or its index, in memory.

Reading's own CPU is in the extract share too: by stacks or, without, by rule
  cpu.read_calls (system time less the cost of page faults, at most what calls, bytes and
  waits explain; huge pages and locks look alike). It never makes this finding fire.

When it is wrong: reads are small but sequential (a buffered parser): the kernel reads
  ahead and latency does not count. The offsets in the recording's file events tell.
)"},
    {"extract.small_files", R"(extract.small_files

One file a sample: opening, looking up and closing it costs more than its bytes. On
  disks and network mounts this is 10 to 30 times slower than reading the same bytes in
  a row.

Fires when: more than 5 % of the window is blamed on reading, and data files are under
  200 kB on average or more than one open for every two samples is counted with under
  200 kB each.

Fixes:
- Pack samples into large files (WebDataset, TFRecord, Arrow, LMDB): 1.4 to 9 times
  faster where it was measured.
- Copy the files to local storage, or keep them in memory.
- More workers, so that more opens are under way.

When it is wrong: the files are in the page cache: then opening is CPU time, and extract
  stays small. Where opens cannot be counted, only file sizes speak; the evidence says
  which.
)"},
    {"extract.remote_latency", R"(extract.remote_latency

The producers wait for answers from a network: an object store, NFS, or a streaming
  service. Each request takes its round trip, and few are under way.

Fires when: more than 5 % of the window is blamed on blocked reading, over half of it (at
  the low end of a 90 % interval) in sockets or on a network file system, and the host
  receives under 50 MB/s, or under 60 % of its best second. Without network counters
  nothing is said.

Fixes:
- More requests at once: more workers, threads in a worker, a download ahead of use.
- Larger requests: shards instead of objects.
- A local copy or cache.

When it is wrong: the far side limits the rate (quota, throttling): then more requests
  do not help. The rate stays flat while concurrency grows.
)"},
    {"extract.page_faults", R"(extract.page_faults

Data is mapped, not read, and its pages are not in memory: the producer stops at every
  first touch.

Fires when: more than 5 % of the window is blamed on blocked reading, and over half of
  the producers' blocked looks (at the low end of a 90 % interval) are in page faults
  rather than in read calls.

Fixes:
- Read sequentially, or advise the kernel (madvise WILLNEED, SEQUENTIAL).
- Keep the mapped file in memory: read it once before training.
- Use larger records, so that one fault brings a whole sample.

When it is wrong: memory is short and the pages were there before: then
  host.memory_pressure is the cause and faults its symptom.
)"},
    {"extract.cold_cache", R"(extract.cold_cache

The first pass reads the data set from storage although memory could hold it; later
  passes may find it in the page cache.

Fires when: more than 5 % of the window is blamed on reading, over half of what is read
  comes from storage, the data set fits into 80 % of the available memory, and nothing
  says that the page cache does not keep it: a later pass that reads from storage again,
  or a cache that does not grow by what is read though memory is free (O_DIRECT).

Fixes:
- Read the files once before training, or copy them to tmpfs.
- Judge by a later pass: the epochs table shows both.
- Leave memory to the cache: fewer workers, smaller copies.

When it is wrong: the data set is larger than was seen so far: its size is estimated
  from what the run has read. On network mounts storage reads are not counted and
  nothing is said.
)"},
};

}  // namespace

std::span<const Page> extractPages() { return kPages; }

}  // namespace stallprof
