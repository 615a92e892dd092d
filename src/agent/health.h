// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace stallprof::agent {

// Whether CUPTI still works for us. One tool of a process can take it from another without a word:
// it registers its own buffer callbacks, and ours are never called again.
class Health {
 public:
  // Counts since the start, as they are at a tick after its flush.
  struct Look {
    std::uint64_t delivered;  // buffers given back with records in them
    std::uint64_t calls;      // of the program, that leave a record while copies are recorded
    std::uint64_t taken;      // buffers that CUPTI got
    std::uint64_t starved;    // times it got none
    std::uint64_t kernels, invalid;   // records; of them, those with times that cannot be
    std::uint64_t monotonic, device;  // the clocks, at one instant; device 0: not known
  };
  // Null: all is well. Else why not, in words, said once; `Verdict` is what to do about it.
  enum class Verdict { kWell, kYield, kStop, kNoKernels };
  Verdict judge(const Look& now);
  [[nodiscard]] const char* why() const { return why_; }

 private:
  bool isStolen(const Look& now);
  bool isOtherClock(const Look& now);
  bool isAlone(const Look& now);
  bool isInvalid(const Look& now);
  Verdict say(Verdict verdict, const char* why);

  Look last_{};
  std::uint64_t callsAtDelivery_ = 0;
  int silent_ = 0, offRate_ = 0, alone_ = 0, invalid_ = 0;  // ticks in a row
  const char* why_ = "";
};

}  // namespace stallprof::agent
