// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sampler/nvml/nvml_watch.h"

namespace stallprof {

// An NvmlWatch on a thread of its own. A driver that hangs holds up that thread alone: it is never
// waited for, and what it shares lives as long as it does.
class NvmlThread {
 public:
  explicit NvmlThread(std::vector<std::string> libraries);
  NvmlThread(const NvmlThread&) = delete;
  ~NvmlThread();  // asks it to end, and returns at once

  // What was found since the last call; `dropped` samples had no room.
  struct Found {
    NvmlFindings findings;
    std::uint64_t dropped = 0;
  };
  [[nodiscard]] Found take();
  // When the call began that it is in now; zero between calls.
  [[nodiscard]] Nanos busySince() const;
  [[nodiscard]] bool started() const { return started_; }

 private:
  struct Shared;
  static void loop(const std::shared_ptr<Shared>& shared, std::vector<std::string> libraries);
  std::shared_ptr<Shared> shared_;
  bool started_ = false;
};

}  // namespace stallprof
