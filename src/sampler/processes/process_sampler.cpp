// SPDX-License-Identifier: MIT
#include "sampler/processes/process_sampler.h"

#include <unistd.h>

#include <cerrno>

#include "base/time.h"

namespace stallprof {
namespace {

Nanos ticks(std::int64_t count) { return count < 0 ? Nanos{-1} : tickLength() * count; }

}  // namespace

ProcessSampler::ProcessSampler(std::string root, ProcessTree& tree)
    : root_(std::move(root)), tree_(tree), nodes_(root_), fds_(keptFdLimit(0.09)) {}

void ProcessSampler::readIo(const LiveProcess& process, Files& files, ProcessUsage& usage) {
  char buffer[512];
  const std::string_view text = files.io.read(processPath(root_, process.pid, "io"), buffer, fds_);
  usage.readChars = valueOf(text, "rchar:");
  usage.writeChars = valueOf(text, "wchar:");
  usage.readCalls = valueOf(text, "syscr:");
  usage.writeCalls = valueOf(text, "syscw:");
  usage.readBytes = valueOf(text, "read_bytes:");
  usage.writeBytes = valueOf(text, "write_bytes:");
}

ProcessUsage ProcessSampler::read(const LiveProcess& process, Files& files) {
  char buffer[1024];
  ProcessUsage usage;
  usage.process = process.id;
  Nanos waitedFor{};
  const auto stat =
      parseStat(files.stat.read(processPath(root_, process.pid, "stat"), buffer, fds_));
  if (!stat) return usage;
  usage.user = ticks(stat->userTicks);
  usage.system = ticks(stat->systemTicks);
  usage.minorFaults = stat->minorFaults;
  usage.majorFaults = stat->majorFaults;
  usage.threads = static_cast<std::int32_t>(stat->threads);
  usage.node = nodes_.of(stat->cpu);
  waitedFor = std::max(ticks(stat->childrenUserTicks), Nanos::zero()) +
              std::max(ticks(stat->childrenSystemTicks), Nanos::zero());
  usage.cpu = isLive(root_) ? cpuOf(static_cast<pid_t>(process.pid)) : Nanos{-1};
  const Nanos own = usage.cpu >= Nanos::zero() ? usage.cpu : usage.user + usage.system;
  tree_.cpu().set(process.id, process.parent, std::max(own, Nanos::zero()), waitedFor,
                  tree_.older(process.since));
  readIo(process, files, usage);
  const auto pages =
      splitWords(files.statm.read(processPath(root_, process.pid, "statm"), buffer, fds_), 3);
  if (pages.size() == 3) {
    const std::int64_t page = ::sysconf(_SC_PAGESIZE);
    usage.residentBytes = parseNumber(pages[1]).value_or(-1) * page;
    usage.sharedBytes = parseNumber(pages[2]).value_or(-1) * page;
  }
  return usage;
}

void ProcessSampler::dropGone() {
  for (auto entry = files_.begin(); entry != files_.end();) {
    Files& files = entry->second;
    if (std::exchange(files.present, false)) {
      ++entry;
      continue;
    }
    files.stat.close(fds_);
    files.io.close(fds_);
    files.statm.close(fds_);
    entry = files_.erase(entry);
  }
}

void ProcessSampler::reportSources(Nanos now, EventOut& out) {
  if (reported_ || tree_.processes().empty()) return;
  reported_ = true;
  const LiveProcess& first = tree_.processes().front();
  const auto report = [&](std::string_view name, std::string_view file) {
    errno = 0;
    const bool there = !contentOf(processPath(root_, first.pid, file), 4096).empty();
    emitSource(out, now, name, there ? Coverage::kFull : Coverage::kAbsent,
               there ? std::string() : std::string(file) + ": " + errnoText(errno));
  };
  report("io", "io");
  report("memory", "statm");
}

void ProcessSampler::sample(Nanos now, EventOut& out) {
  reportSources(now, out);
  tree_.cpu().nextRound();
  std::vector<std::uint32_t> ended;
  for (const LiveProcess& process : tree_.processes()) {
    Files& files = files_[process.id];
    files.present = true;
    const ProcessUsage usage = read(process, files);
    if (usage.threads < 0)
      ended.push_back(process.pid);
    else
      out.emit(now, usage);
  }
  for (const std::uint32_t pid : ended) tree_.suspect(pid);
  dropGone();
}

}  // namespace stallprof
