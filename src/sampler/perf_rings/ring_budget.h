// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace stallprof {

// How many pages the perf rings of this process may lock, all together. The kernel charges them to
// what all programs of a user lock, with which it compares an io_uring's buffers, and other perf
// rings: of an ordinary user's allowance (RLIMIT_MEMLOCK) they take half.
class RingBudget {
 public:
  explicit RingBudget(std::size_t pages) : left_(pages) {}
  // This process's own; without a limit where the kernel asks for none (CAP_IPC_LOCK).
  static RingBudget& ofProcess();

  // Data pages for each of `rings` rings, each with one page more: a power of two, at most
  // `wanted`, of which all fit into `share` of what is left; at least `minimum`, which may not fit.
  [[nodiscard]] std::size_t dataPages(std::size_t rings, std::size_t wanted, std::size_t minimum,
                                      double share) const;
  // False: there are not as many.
  [[nodiscard]] bool take(std::size_t pages);
  void give(std::size_t pages) { left_ += pages; }

 private:
  std::size_t left_;
};

}  // namespace stallprof
