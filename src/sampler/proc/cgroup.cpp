// SPDX-License-Identifier: MIT
#include "sampler/proc/cgroup.h"

#include <unistd.h>

#include <algorithm>

#include "sampler/proc/cpu_mask.h"
#include "sampler/proc/mounts.h"
#include "sampler/proc/proc_file.h"
#include "sampler/proc/proc_text.h"

namespace stallprof {
namespace {

// v1 says "no limit" with the largest multiple of a page; nothing real is above 2^60.
constexpr std::int64_t kUnlimited = 1ll << 60;
constexpr std::size_t kDepth = 64;

bool inList(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (list.substr(0, comma) == word) return true;
    if (comma == std::string_view::npos) return false;
    list.remove_prefix(comma + 1);
  }
  return false;
}

// The directories of `path` in this hierarchy, nearest first, the mount point last.
std::vector<std::string> directories(const std::string& root, const Mount& mount,
                                     std::string_view path) {
  std::string_view below = path;
  if (mount.top != "/")
    below = isBelow(below, mount.top) ? below.substr(mount.top.size()) : std::string_view();
  if (below.find("/..") != std::string_view::npos) below = {};  // outside our cgroup namespace
  std::string relative(below);
  while (relative.ends_with('/')) relative.pop_back();
  std::vector<std::string> found;
  while (found.size() < kDepth) {
    const std::string directory = under(root, mount.point + relative);
    if (::access(directory.c_str(), X_OK) == 0) found.push_back(directory);
    if (relative.empty()) break;
    relative.resize(relative.rfind('/'));
  }
  return found;
}

// The path of a v1 controller, or of v2 with an empty name; null when not there.
std::string_view pathOf(std::string_view text, std::string_view controller) {
  std::string_view path;
  forEachLine(text, [&](std::string_view line) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first == std::string_view::npos ? 0 : first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos || second <= first)
      return;
    const std::string_view names = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? names.empty() : inList(names, controller))
      path = line.substr(second + 1);
  });
  return path;
}

std::int64_t numberIn(KeptFiles& files, const std::string& path) {
  return parseNumber(files.read(path, 4096)).value_or(-1);
}

// Thousandths of a CPU; -1: no quota here.
std::int64_t quotaMilli(KeptFiles& files, const std::string& directory, bool v2) {
  std::int64_t quota = -1, period = -1;
  if (v2) {
    const std::string text = files.read(directory + "/cpu.max", 256);
    const auto words = splitWords(text, 2);
    if (words.size() == 2 && words[0] != "max") {
      quota = parseNumber(words[0]).value_or(-1);
      period = parseNumber(words[1]).value_or(-1);
    }
  } else {
    quota = numberIn(files, directory + "/cpu.cfs_quota_us");
    period = numberIn(files, directory + "/cpu.cfs_period_us");
  }
  if (quota <= 0 || period <= 0 || quota > kUnlimited / 1000) return -1;
  return quota * 1000 / period;
}

std::int64_t memoryLimit(KeptFiles& files, const std::string& directory, bool v2) {
  const std::int64_t limit =
      numberIn(files, directory + (v2 ? "/memory.max" : "/memory.limit_in_bytes"));
  return limit < 0 || limit >= kUnlimited ? -1 : limit;
}

// The directory with the smallest limit, the nearest where none has any.
template <class F>
std::pair<std::string, std::int64_t> tightest(const std::vector<std::string>& directories,
                                              F limit) {
  std::pair<std::string, std::int64_t> best{directories.front(), -1};
  for (const std::string& directory : directories)
    if (const std::int64_t value = limit(directory);
        value >= 0 && (best.second < 0 || value < best.second))
      best = {directory, value};
  return best;
}

// v1 keeps it in another hierarchy, which is often mounted beside or together with the first.
Nanos groupCpu(KeptFiles& files, std::string directory, std::string_view stat, bool v2) {
  if (v2) {
    const std::int64_t time = valueOf(stat, "usage_usec");
    return time < 0 ? Nanos(-1) : std::chrono::microseconds(time);
  }
  std::int64_t time = numberIn(files, directory + "/cpuacct.usage");
  constexpr std::string_view kMount = "/cgroup/cpu";
  const std::size_t mount = directory.find(std::string(kMount) + "/");
  if (time < 0 && (mount != std::string::npos || directory.ends_with(kMount))) {
    const std::size_t end =
        (mount == std::string::npos ? directory.size() - kMount.size() : mount) + kMount.size();
    time = numberIn(files, directory.insert(end, "acct") + "/cpuacct.usage");
  }
  return Nanos(time);
}

void readCpu(const CgroupPaths& paths, KeptFiles& files, CgroupUsage& usage) {
  if (paths.cpu.empty()) return;
  const auto [directory, quota] = tightest(
      paths.cpu, [&](const std::string& d) { return quotaMilli(files, d, paths.cpuIsV2); });
  usage.cpuQuotaMilli = quota;
  const std::string stat = files.read(directory + "/cpu.stat", 8192);
  usage.periods = valueOf(stat, "nr_periods");
  usage.throttledPeriods = valueOf(stat, "nr_throttled");
  const std::int64_t time = valueOf(stat, paths.cpuIsV2 ? "throttled_usec" : "throttled_time");
  usage.cpu = groupCpu(files, directory, stat, paths.cpuIsV2);
  if (time >= 0) usage.throttled = paths.cpuIsV2 ? std::chrono::microseconds(time) : Nanos(time);
}

void readMemory(const CgroupPaths& paths, KeptFiles& files, CgroupUsage& usage) {
  if (paths.memory.empty()) return;
  const bool v2 = paths.memoryIsV2;
  const auto [directory, limit] =
      tightest(paths.memory, [&](const std::string& d) { return memoryLimit(files, d, v2); });
  usage.memoryLimit = limit;
  usage.memoryBytes =
      numberIn(files, directory + (v2 ? "/memory.current" : "/memory.usage_in_bytes"));
  const std::string stat = files.read(directory + "/memory.stat", 1u << 16);
  // What lies in shared memory and tmpfs counts as cache, and cannot be dropped.
  const auto cache = [&](std::string_view all, std::string_view shared) {
    const std::int64_t file = valueOf(stat, all);
    return file < 0
               ? file
               : std::max<std::int64_t>(0, file - std::max<std::int64_t>(0, valueOf(stat, shared)));
  };
  usage.memoryFile = v2 ? cache("file", "shmem") : cache("total_cache", "total_shmem");
  if (usage.memoryFile < 0 && !v2) usage.memoryFile = cache("cache", "shmem");
  usage.oomKills = valueOf(
      files.read(directory + (v2 ? "/memory.events" : "/memory.oom_control"), 4096), "oom_kill");
}

double coresByAffinity(const std::string& root, pid_t pid) {
  if (!isLive(root))
    return static_cast<double>(
        allowedInStatus(contentOf(processPath(root, static_cast<std::uint32_t>(pid), "status")))
            .count());
  const auto mask = affinityOf(pid);
  return mask && mask->any() ? static_cast<double>(mask->count())
                             : static_cast<double>(::sysconf(_SC_NPROCESSORS_ONLN));
}

}  // namespace

CgroupPaths findCgroups(const std::string& root, pid_t pid) {
  const auto number = static_cast<std::uint32_t>(pid);
  const std::string groups = contentOf(processPath(root, number, "cgroup"), 1u << 16);
  const auto mounts = Mounts::parse(contentOf(processPath(root, number, "mountinfo"), 8u << 20));
  // Of a container that is attached to from outside, its mounts are not ours.
  const std::string seen = readLink(processPath(root, number, "ns/mnt")),
                    ours = readLink(under(root, "proc/self/ns/mnt")),
                    view = seen.empty() || seen == ours ? root : processPath(root, number, "root");
  CgroupPaths paths;
  const auto locate = [&](std::string_view controller, std::vector<std::string>& into, bool& v2) {
    const std::string_view v1Path = pathOf(groups, controller);
    for (const Mount& mount : mounts)
      if (mount.fsType == "cgroup" && !v1Path.empty() && inList(mount.options, controller) &&
          into.empty())
        into = directories(view, mount, v1Path);
    if (!into.empty()) return;
    const std::string_view v2Path = pathOf(groups, "");
    for (const Mount& mount : mounts)
      if (mount.fsType == "cgroup2" && !v2Path.empty() && into.empty()) {
        into = directories(view, mount, v2Path);
        v2 = !into.empty();
      }
    // A hybrid's v2 tree may carry no controller at all.
    const std::string file = "/" + std::string(controller) + ".stat";
    if (v2 && std::none_of(into.begin(), into.end(), [&](const std::string& d) {
          return ::access((d + file).c_str(), R_OK) == 0;
        })) {
      into.clear();
      v2 = false;
    }
  };
  locate("cpu", paths.cpu, paths.cpuIsV2);
  locate("memory", paths.memory, paths.memoryIsV2);
  if (!paths.cpu.empty() || !paths.memory.empty())
    paths.version = paths.cpuIsV2 || paths.memoryIsV2 ? 2 : 1;
  return paths;
}

CgroupUsage readCgroups(const CgroupPaths& paths, KeptFiles& files) {
  CgroupUsage usage;
  usage.version = paths.version;
  readCpu(paths, files, usage);
  readMemory(paths, files, usage);
  return usage;
}

double usableCores(const std::string& root, pid_t pid) {
  const double affinity = coresByAffinity(root, pid);
  KeptFiles none(0);
  const std::int64_t quota = readCgroups(findCgroups(root, pid), none).cpuQuotaMilli;
  return quota > 0 ? std::min(affinity, static_cast<double>(quota) / 1000) : affinity;
}

}  // namespace stallprof
