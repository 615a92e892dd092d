// SPDX-License-Identifier: MIT
#include "sampler/processes/job_cpu.h"

#include <algorithm>

namespace stallprof {

void JobCpu::set(ProcessId process, ProcessId parent, Nanos own, Nanos waitedFor, bool older) {
  if (older) waitedFor -= waitedBefore_.try_emplace(process, waitedFor).first->second;
  Account& account = alive_[process];
  account.parent = parent;
  account.own = std::max(account.own, own);
  if (account.round != round_) account.waitedBefore = account.waitedFor;
  account.round = round_;
  account.waitedFor = std::max(account.waitedFor, waitedFor);
  if (account.waitedFor >= account.settled + account.pending) account.pending = Nanos::zero();
  if (account.pending == Nanos::zero()) account.settled = account.waitedFor;
}

void JobCpu::gone(ProcessId process) {
  const auto found = alive_.find(process);
  if (found == alive_.end()) return;
  const Account account = found->second;
  alive_.erase(found);
  const auto entry = alive_.find(account.parent);
  if (entry == alive_.end()) {
    orphans_ += account.all();
    return;
  }
  // Missed in the last round: it had died by then, and what the parent's figure grew may be it.
  Account& parent = entry->second;
  const Nanos grown =
      account.round < parent.round ? parent.waitedFor - parent.waitedBefore : Nanos::zero();
  parent.pending += std::max(account.all() - grown, Nanos::zero());
}

Nanos JobCpu::total() const {
  Nanos sum = orphans_;
  for (const auto& [id, account] : alive_) sum += account.all();
  return sum;
}

}  // namespace stallprof
