// SPDX-License-Identifier: MIT
#include "sampler/job_cpu.h"

#include <algorithm>

namespace stallprof {

void JobCpu::set(ProcessId process, ProcessId parent, Nanos own, Nanos waitedFor) {
  Account& account = alive_[process];
  account.parent = parent;
  account.own = std::max(account.own, own);
  account.waitedFor = std::max(account.waitedFor, waitedFor);
}

void JobCpu::gone(ProcessId process) {
  const auto found = alive_.find(process);
  if (found == alive_.end()) return;
  const Account account = found->second;
  alive_.erase(found);
  const auto parent = alive_.find(account.parent);
  (parent != alive_.end() ? parent->second.deadChildren : orphans_) += account.all();
}

Nanos JobCpu::total() const {
  Nanos sum = orphans_;
  for (const auto& [id, account] : alive_) sum += account.all();
  return sum;
}

}  // namespace stallprof
