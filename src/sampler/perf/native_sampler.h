// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "sampler/perf/call_names.h"
#include "sampler/perf/callers.h"
#include "sampler/perf/jit/jit_names.h"
#include "sampler/perf/jit/jit_spins.h"
#include "sampler/perf/native_maps.h"
#include "sampler/perf/native_places.h"
#include "sampler/perf/perf_samples.h"
#include "sampler/perf/submitters.h"
#include "sampler/proc/sampler.h"
#include "sampler/processes/process_tree.h"
#include "sampler/python/python_sampler.h"

namespace stallprof {

// Where the job's threads spend their CPU time in native code: takes what PerfSamples gives, finds
// file and offset (in the kernel, the system call), and in programs without an interpreter whom a
// library or a template of the standard library works for; joins each sample with the Python frame
// seen nearest to it in time (of the thread that had its work done there, where it runs no Python),
// and emits NativeSlices. Turns itself off where threads are born so fast that the inherited events
// would be felt.
class NativeSampler : public Sampler {
 public:
  // Births a second that cost 0.4 % of a CPU, at 10 us each and CPU with an inherited event; asked
  // of kTooFast seconds in a row.
  [[nodiscard]] static constexpr std::uint64_t maxBirths(std::size_t cpus) {
    return cpus < 2 ? 400 : 400 / cpus;
  }
  static constexpr unsigned kTooFast = 3;

  // Both must outlive the sampler; `stacks` may be null.
  NativeSampler(std::string root, ProcessTree& tree, const PythonSampler* stacks);
  // While the command is held, and after the first setPace. False: sample() says why.
  bool open(pid_t command);
  // Asked not to: sample() says so.
  void leaveOut(std::string why) { leftOut_ = std::move(why); }

  [[nodiscard]] Nanos period() const override;
  void sample(Nanos now, EventOut& out) override;
  void finish(Nanos now, EventOut& out) override;
  // After that: what the files say of the places that were sampled (native_places.h).
  void namePlaces(Nanos now, EventOut& out) const;
  void pause() override;
  void resume(Nanos now, Nanos paused) override;
  void setPace(const Pace& pace) override;

 private:
  struct Thread {
    ThreadId id;
    PythonSampler::LastSample samples;
    Nanos seen{};  // when `samples` was asked for
  };
  void drain(Nanos now, EventOut& out, bool all);
  void followThreads(Nanos now, EventOut& out);
  void take(const PerfRecord& record, Nanos now, EventOut& out);
  void takeSample(const PerfRecord& record, Nanos now, EventOut& out);
  [[nodiscard]] NativeMaps::Place placeOf(const PerfRecord& record, Nanos now, EventOut& out);
  [[nodiscard]] NativeMaps::Place callerOf(const Thread& thread, const PerfRecord& record,
                                           const NativeMaps::Place& place, Nanos now,
                                           EventOut& out);
  [[nodiscard]] NativeMaps::Place mappedAt(std::uint32_t pid, std::uint64_t address, Nanos now,
                                           EventOut& out);
  // The process's file of that path and inode is not the one that we find by the path.
  [[nodiscard]] bool isAnother(std::uint32_t pid, std::string_view path, std::uint64_t inode);
  Thread& threadOf(const PerfRecord& record, Nanos now);
  [[nodiscard]] StackId stackAt(const Thread& thread, const PerfRecord& record,
                                const NativeMaps::Place& place);
  void eachSecond(Nanos now, EventOut& out);
  void report(Nanos now, EventOut& out);

  std::string root_;
  ProcessTree& tree_;
  const PythonSampler* stacks_;
  PerfSamples samples_;
  NativeMaps maps_;
  JitNames jit_;
  JitSpins spins_;
  CallNames calls_;
  Callers callers_;
  NativePlaces places_;
  Submitters submitters_;
  std::vector<PerfRecord> drained_;
  std::unordered_map<std::uint32_t, Thread> threads_;      // by tid
  std::unordered_map<std::uint32_t, Nanos> nextMapsRead_;  // by pid
  std::unordered_map<std::uint32_t, bool>
      elsewhere_;  // by pid: has mounts of its own; for a second
  std::uint64_t births_ = 0;
  unsigned fastSeconds_ = 0;
  bool stopped_ = false, reported_ = false, incomplete_ = false;
  bool interpreted_ = false;  // a thread ran Python
  std::string leftOut_;
  Nanos nextFollow_{}, second_{}, pace_{10'000'000};
  Nanos started_{};  // real time
};

}  // namespace stallprof
