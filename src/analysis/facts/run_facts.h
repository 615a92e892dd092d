// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analysis/facts/analysis.h"
#include "analysis/facts/stack_facts.h"
#include "base/ids.h"

namespace stallprof {

// One rank of several in a recording.
struct RankFacts {
  ProcessId process;
  // Share of its time in collectives: that its device ran nothing else; without one that its thread
  // stood in them.
  double collectives = 0;
  double chance = 0;             // half of that share's 90 % interval; 0: it is counted
  double wait = 0, compute = 0;  // shares of its time, for data and in steps
  double late = 0;               // of the uneven steps: the others waited for it
};

// How the ranks of a recording wait for each other, step by step (ranks.h).
struct RankBalance {
  std::vector<RankFacts> ranks;
  std::size_t together =
      1;  // trainers that train side by side, whether or not they were seen to wait
  std::size_t compared = 0;  // steps
  double uneven = 0;         // share of those in which one rank was waited for
  double saved = 0;          // share of their time that evening out the ranks would save
};

// The training process's CPU samples in the window, of all its threads.
struct PoolUse {
  double samples = 0, spins = 0;  // in all; in loops of OpenMP and other locks
  // Of a program without an interpreter: acquiring and releasing locks, of these those of OpenMP
  // (whose waiting are `spins`); in the kernel's call for locks; in OpenMP's runtime and its loops.
  double locks = 0, openMpLocks = 0, futex = 0, openMp = 0;
  // The trainer's own thread, which hands out the work, and those beside it that spin: a tenth and
  // more of what the most of them does. 0 where none does.
  int threads = 0;
  double leaderSpins = 0;  // of the samples of the trainer's own thread
  double besideWorks = 0;  // samples of the others of these that are no spinning
};

// Threads that the program gave itself, where it did so.
struct ThreadsSet {
  int threads = 0;
  SourceLine where;
};

// Files that the makers of batches held open for reading, and how often those read all of them.
struct Rereads {
  double times = 0;  // bytes that they read in the window, of any file, by `bytes`
  double bytes = 0;  // sizes of these files, each once
  std::string path;  // the largest
  std::size_t files = 0;
};

// What the whole run was like, beside the trainer: measured once, used by ceilings and findings.
// Shares and rates are of the trainer's window. nullopt: not measured.
struct RunFacts : CpuUse {
  // Cores that the job could use: the CPUs that its threads may run on, or its quota where that is
  // less; the mean of the window. `coresRange`: least and most, where they changed.
  double cores = 1;
  Maybe<double> coresAllowed;  // the CPUs alone, without a quota
  // How long threads of the job were runnable without one, of `cores` in the window; null: not
  // counted.
  Maybe<double> queuedRatio;
  Maybe<std::pair<double, double>> coresRange;
  // Of `cores`, where some are hardware threads of one core: as much as all of them do together.
  Maybe<double> coresAsOne;
  std::int64_t siblings = 0;
  // How busy the other hardware threads of those cores were, of it.
  Maybe<double> besideBusyRatio;
  Maybe<double> readBytesPerSecond;      // from storage, whole job
  Maybe<double> peakReadBytesPerSecond;  // best second of the run
  Maybe<double> diskBusyRatio;           // of the disk read from most, if the job reads from disks
  // 1 - read_bytes / rchar of the producers; null where that is not what it says
  // (describe/README.md).
  Maybe<double> cacheHitRatio;
  bool readsCounted = true;  // it is
  Maybe<double> readCallsPerSecond, bytesPerReadCall, opensPerSecond, majorFaultsPerSecond;
  // Of the producers' reads that followed another in the same file: began before it. A reader of
  // random places does half of the time. Not known below kFewReadPairs of them.
  Maybe<double> scatteredReadRatio;
  static constexpr double kFewReadPairs = 20;
  Maybe<double> bytesPerMajorFault;  // from storage: what was read besides counts in
  Maybe<std::int64_t>
      datasetBytes;  // estimate: storage bytes that one rank read in the first epoch, or files seen
  bool filesSized = false;  // it is of files seen, which are mapped: no rank's part, but all of it
  Maybe<Rereads> rereads;   // null: the files are not all known, or were not read twice
  Maybe<std::int64_t> memoryAvailable, memoryTotal, cgroupHeadroom, shmFree, shmPeak;
  // Free for the job: of the host, or of its container's limit where that is less.
  [[nodiscard]] Maybe<std::int64_t> memoryRoom() const {
    if (!memoryAvailable || !cgroupHeadroom)
      return memoryAvailable ? memoryAvailable : cgroupHeadroom;
    return std::min(*memoryAvailable, *cgroupHeadroom);
  }
  [[nodiscard]] bool limitedMemory() const {
    return cgroupHeadroom && memoryRoom() == cgroupHeadroom;
  }
  Maybe<double> memoryPressureRatio;  // PSI memory some, of the window
  Maybe<double> swapPagesPerSecond;
  std::vector<std::pair<std::string, double>> waitWhat;  // top files or mounts the producers were
                                                         // blocked in: name, share of blocked time
  std::string storageType;  // "ext4", "nfs4", ... of most of the blocked reads; may be ""
  // CPU seconds, in the window, of programs that the makers of batches start (ffmpeg), and of those
  // that lived too short to be seen: of the batches.
  double childCpu = 0;
  // CPU of the job that neither the training process nor the making of batches used (a storage
  // server, the workers' senders) / usable cores: those cores are not the pipeline's.
  Maybe<double> besideCpuRatio;
  Maybe<double> faultSeconds;  // of CPU a minor page fault costs here, at most
  // What it costs on a virtual machine, where it is dearer than on bare metal: 3.0 to 3.4 us,
  // measured where 4.7 MB cost a worker 4.4 ms (puppet --send-kb 4704 against 16).
  static constexpr double kFaultSeconds = 3.4e-6, kPageBytes = 4096;
  Maybe<bool> pageCacheKeeps;    // what was read is found in the page cache later; null: not known
  Maybe<double> laterMissRatio;  // of what later epochs read, from storage
  Maybe<PoolUse> pool;           // null: no native samples
  Maybe<ThreadsSet> threadsSet;  // by the trainer's program; null: not seen to
  Maybe<Share> workerSpins;      // spin loops, of the workers' native samples; null: too few
  // Minor page faults of the workers in the window a second of their CPU, their start aside.
  Maybe<double> workerFaultsPerSecond;
  RankBalance balance;  // of trainers that ran collectives
};

}  // namespace stallprof
