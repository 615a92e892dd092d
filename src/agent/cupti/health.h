// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace stallprof::agent {

// Whether CUPTI still works for us. One tool of a process can take it from another without a word:
// it registers its own buffer callbacks, and ours are never called again.
class Health {
 public:
  constexpr explicit Health(int patience = kSilentTicks) : patience_(patience) {}
  // Counts since the start, as they are at a tick after its flush.
  struct Sample {
    std::uint64_t delivered;  // buffers returned with records in them
    std::uint64_t calls;      // of the program, that leave a record while copies are recorded
    std::uint64_t taken;      // buffers that CUPTI got
    std::uint64_t starved;    // times it got none
    std::uint64_t kernels, invalid;   // records; of them, those with times that cannot be
    std::uint64_t monotonic, device;  // the clocks, at one instant; device 0: not known
  };
  // Null: all is well. Else why not, in words, said once; `Verdict` is what to do about it.
  enum class Verdict { kWell, kYield, kNoKernels };
  Verdict judge(const Sample& now);
  [[nodiscard]] const char* why() const { return why_; }
  // After a yield: it was for silence alone. A flush gives no buffer back that holds unfinished
  // work, so where the device never runs dry none may come until one is full. Or nobody reads, and
  // a recorder that stood still may go on.
  [[nodiscard]] bool mayComeBack() const { return silence_ || unread_; }
  // After a yield: no other client has CUPTI, but nobody reads.
  [[nodiscard]] bool isUnread() const { return unread_; }
  // To be asked in each tick where it may come back. True: a buffer was returned with records.
  // After a silence no other client took them then, and twice as long a one is tolerated from now
  // on.
  bool cameBack(std::uint64_t delivered);

 private:
  bool isStolen(const Sample& now);
  bool isUnsteadyClock(const Sample& now);
  bool isAlone(const Sample& now);
  bool isInvalid(const Sample& now);
  Verdict say(Verdict verdict, const char* why);

  Sample last_{};
  std::uint64_t callsAtDelivery_ = 0;
  static constexpr int kSilentTicks = 5;  // a flush is asked for in each
  int patience_;                          // ticks of silence
  bool silence_ = false, unread_ = false;
  int silent_ = 0, unsteady_ = 0, alone_ = 0, invalid_ = 0;  // ticks in a row
  double rate_ = 0;  // of the device's clock, in the last tick; 0: not known
  const char* why_ = "";
};

}  // namespace stallprof::agent
