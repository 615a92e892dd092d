// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/fd.h"
#include "sampler/perf/counter_codes.h"
#include "sampler/proc/sampler.h"

namespace stallprof {

// Counts events of the CPUs over the whole job, once a second: one inherited counting perf event a
// code. Without codes, or where the CPU has no counters (most virtual machines), says so and is
// silent.
class CounterSampler : public Sampler {
 public:
  // While the command is held. False: sample() says why.
  bool open(pid_t command, const std::vector<CounterCode>& codes);

  [[nodiscard]] Nanos period() const override { return std::chrono::seconds(1); }
  void sample(Nanos now, EventOut& out) override;

 private:
  struct Counter {
    std::string name;
    Fd fd;
  };
  void refuse(int error);

  std::vector<Counter> counters_;
  std::vector<std::string> missing_;
  bool asked_ = false, kernel_ = true, reported_ = false;
  std::string why_;
};

}  // namespace stallprof
