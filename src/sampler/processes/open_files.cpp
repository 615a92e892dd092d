// SPDX-License-Identifier: MIT
#include "sampler/processes/open_files.h"

#include <fcntl.h>

#include <algorithm>
#include <vector>

#include "sampler/proc/proc_file.h"
#include "sampler/proc/proc_text.h"

namespace stallprof {
namespace {

// 8 processes and 64 descriptors at about 4 us each: a quarter of a millisecond a second.
constexpr std::size_t kProcesses = 8;
constexpr int kDescriptors = 64;
constexpr int kPerProcess = 24;
// Listing one takes about a microsecond: a tenth of a percent of a core, however many there are.
constexpr Nanos kPerDescriptor = std::chrono::milliseconds(1);

}  // namespace

// fdinfo gives the open flags in octal, read here as a decimal: its last digit holds the access
// mode. What is open for writing alone is a log or a checkpoint.
bool OpenFiles::forReading(std::uint32_t pid, std::uint32_t fd) const {
  const std::string info = contentOf(processPath(root_, pid, "fdinfo/") + std::to_string(fd), 4096);
  const std::int64_t flags = valueOf(info, "flags:");
  return flags >= 0 && flags % 10 % 4 != O_WRONLY;
}

int OpenFiles::inspect(const LiveProcess& process, int budget, Nanos now, EventOut& out) {
  std::vector<std::uint32_t> fds;
  forEachNumber(processPath(root_, process.pid, "fd"),
                [&](std::uint32_t fd) { fds.push_back(fd); });
  next_ += kPerDescriptor * static_cast<Nanos::rep>(fds.size());
  // The newest first: a loader's data files come after the ones of start-up.
  std::sort(fds.rbegin(), fds.rend());
  int sampled = 0;
  for (const std::uint32_t fd : fds) {
    if (sampled >= std::min(budget, kPerProcess)) break;
    ++sampled;
    const FdTarget target = classifier_.sample(process.pid, fd, now);
    if (target.kind == FdKind::kFile && forReading(process.pid, fd))
      files_.held(process.id, target, now, out);
  }
  return sampled;
}

void OpenFiles::sample(const ProcessTree& tree, Nanos now, EventOut& out) {
  if (now < next_) return;
  next_ = now;
  const auto& processes = tree.processes();
  int budget = kDescriptors;
  for (std::size_t i = 0; i < std::min(kProcesses, processes.size()) && budget > 0; ++i)
    budget -= inspect(processes[turn_++ % processes.size()], budget, now, out);
}

}  // namespace stallprof
