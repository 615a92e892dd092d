// SPDX-License-Identifier: MIT
#include "sampler/perf_rings/ring_budget.h"

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <string>

#include "base/proc_numbers.h"

namespace stallprof {
namespace {

constexpr std::size_t kShare = 2;  // one in as many pages
// Where no more may be locked (the kernel's default before 5.16) no program can count on any, and
// the smallest rings are worth more: 9 and 5 pages a CPU.
constexpr std::size_t kNextToNone = 64u << 10, kSmallestRings = 14;
constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max() / 2;

bool mayLockAll() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (::syscall(SYS_capget, &header, data) != 0) return false;
  return (data[0].effective & (1u << CAP_IPC_LOCK)) != 0 && inFirstUserNamespace();
}

std::size_t pagesOfProcess() {
  rlimit locked{};
  if (::getrlimit(RLIMIT_MEMLOCK, &locked) != 0 || locked.rlim_cur == RLIM_INFINITY || mayLockAll())
    return kNoLimit;
  if (locked.rlim_cur <= kNextToNone)
    return kSmallestRings * static_cast<std::size_t>(::sysconf(_SC_NPROCESSORS_CONF));
  return static_cast<std::size_t>(locked.rlim_cur) /
         static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) / kShare;
}

}  // namespace

RingBudget& RingBudget::ofProcess() {
  static RingBudget budget(pagesOfProcess());
  return budget;
}

std::size_t RingBudget::dataPages(std::size_t rings, std::size_t wanted, std::size_t minimum,
                                  double share) const {
  const double each = static_cast<double>(left_) * share / static_cast<double>(rings) - 1;
  std::size_t pages = wanted;
  while (pages > minimum && static_cast<double>(pages) > each) pages /= 2;
  return pages;
}

bool RingBudget::take(std::size_t pages) {
  if (pages > left_) return false;
  left_ -= pages;
  return true;
}

}  // namespace stallprof
