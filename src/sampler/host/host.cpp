// SPDX-License-Identifier: MIT
#include "sampler/host/host.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "sampler/proc/proc_file.h"
#include "sampler/proc/proc_text.h"

namespace stallprof {
namespace {

constexpr std::size_t kDevices = 4096;
constexpr std::size_t kStatBytes = 1u << 20;  // a line of up to 120 bytes for each of 8,192 CPUs

std::int64_t kilobytes(std::string_view text, std::string_view key) {
  const std::int64_t value = valueOf(text, key);
  return value < 0 ? -1 : value * 1024;
}

void readCpu(std::string_view stat, HostUsage& usage) {
  const auto times = parseCpuTimes(stat.substr(0, stat.find('\n')));
  if (!times) return;
  usage.busy = times->busy;
  usage.idle = times->idle;
  usage.ioWait = times->ioWait;
  usage.steal = times->steal;
}

void readMemory(const std::string& root, KeptFiles& files, HostUsage& usage) {
  const std::string meminfo = files.read(under(root, "proc/meminfo"));
  usage.memoryTotal = kilobytes(meminfo, "MemTotal:");
  usage.memoryAvailable = kilobytes(meminfo, "MemAvailable:");
  usage.pageCache = kilobytes(meminfo, "Cached:");
  usage.dirty = kilobytes(meminfo, "Dirty:");
  const std::string vmstat = files.read(under(root, "proc/vmstat"));
  usage.swapInPages = valueOf(vmstat, "pswpin");
  usage.swapOutPages = valueOf(vmstat, "pswpout");
  usage.reclaimScans = valueOf(vmstat, "pgscan_direct");
}

void readPressure(const std::string& root, KeptFiles& files, HostUsage& usage) {
  const std::string cpu = files.read(under(root, "proc/pressure/cpu"));
  const std::string io = files.read(under(root, "proc/pressure/io"));
  const std::string memory = files.read(under(root, "proc/pressure/memory"));
  usage.cpuSome = pressureTotal(cpu, "some");
  usage.ioSome = pressureTotal(io, "some");
  usage.ioFull = pressureTotal(io, "full");
  usage.memorySome = pressureTotal(memory, "some");
  usage.memoryFull = pressureTotal(memory, "full");
}

}  // namespace

HostSampler::HostSampler(std::string root, const ProcessTree* tree)
    : root_(std::move(root)),
      tree_(tree),
      allowed_(root_),
      nodes_(root_),
      files_(keptFdLimit(0.02)) {}

HostUsage HostSampler::readHost() {
  HostUsage usage;
  const std::string stat = files_.read(under(root_, "proc/stat"), kStatBytes);
  readCpu(stat, usage);
  if (tree_ != nullptr) {
    allowed_.update(tree_->processes(), stat);
    allowed_.fill(usage);
  }
  if (siblings_ != nullptr) {
    usage.siblings = siblings_->count();
    usage.siblingCpu = usage.siblings < 0 ? Nanos(-1) : siblings_->cpu();
  }
  usage.nodes = nodes_.count();
  readMemory(root_, files_, usage);
  readSharedMemory(usage);
  readPressure(root_, files_, usage);
  if (tree_ != nullptr) usage.jobCpu = tree_->jobCpu();
  return usage;
}

// The job's, which may be in a mount namespace of its own. Once it has ended the recorder's says
// what it left only if that is the same.
void HostSampler::readSharedMemory(HostUsage& usage) {
  const std::string own = under(root_, "dev/shm");
  const std::string its =
      processPath(root_, tree_ != nullptr ? tree_->command() : 0, "root/dev/shm");
  struct stat ours {
  }, theirs{};
  const bool seen = ::stat(its.c_str(), &theirs) == 0;
  if (seen) otherShm_ = ::stat(own.c_str(), &ours) != 0 || ours.st_dev != theirs.st_dev;
  if (otherShm_ && !seen) return;
  struct statvfs shm {};
  if (::statvfs(otherShm_ ? its.c_str() : own.c_str(), &shm) != 0) return;
  usage.shmTotal = static_cast<std::int64_t>(shm.f_blocks * shm.f_frsize);
  usage.shmUsed = static_cast<std::int64_t>((shm.f_blocks - shm.f_bfree) * shm.f_frsize);
}

// /sys/block lists disks, not their partitions; loop, zram and device-mapper would count the
// traffic of the disks below them twice, or none of any disk.
bool HostSampler::wholeDisk(const std::string& device) {
  const auto [found, fresh] = whole_.try_emplace(device, false);
  if (!fresh) return found->second;
  std::string folder = device;
  for (char& c : folder)
    if (c == '/') c = '!';  // cciss/c0d0 is cciss!c0d0 in sysfs
  const bool layered = device.starts_with("loop") || device.starts_with("ram") ||
                       device.starts_with("zram") || device.starts_with("dm-") ||
                       device.starts_with("md") || device.starts_with("sr");
  found->second =
      !layered && ::access(under(root_, "sys/block/" + folder + "/stat").c_str(), R_OK) == 0;
  return found->second;
}

void HostSampler::readDisks(Nanos now, EventOut& out) {
  const std::string text = files_.read(under(root_, "proc/diskstats"));
  constexpr std::int64_t kSector = 512;  // of diskstats, whatever the disk's own is
  std::size_t seen = 0;
  forEachLine(text, [&](std::string_view line) {
    const auto words = splitWords(line, 14);
    if (words.size() < 14 || ++seen > kDevices || !wholeDisk(std::string(words[2]))) return;
    const auto number = [&](std::size_t i) { return parseNumber(words[i]).value_or(0); };
    if (number(3) == 0 && number(7) == 0) return;
    DiskUsage usage;
    usage.device = out.intern(words[2]);
    usage.reads = number(3);
    usage.readBytes = number(5) * kSector;
    usage.readTime = std::chrono::milliseconds(number(6));
    usage.writes = number(7);
    usage.writeBytes = number(9) * kSector;
    usage.writeTime = std::chrono::milliseconds(number(10));
    usage.busy = std::chrono::milliseconds(number(12));
    out.emit(now, usage);
  });
}

// A bond, a bridge or a VLAN, whose bytes are those of interfaces below it, or a container's on the
// bridge. Not asked again: what an interface is built of rarely changes.
bool HostSampler::carriedByOthers(std::string_view interface) {
  const auto [known, isNew] = carried_.try_emplace(std::string(interface), false);
  if (!isNew) return known->second;
  namespace fs = std::filesystem;
  const fs::path folder = under(root_, "sys/class/net/" + std::string(interface));
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().filename().string().starts_with("lower_")) known->second = true;
  if (!known->second)
    known->second = fs::exists(folder / "master", error) && !fs::exists(folder / "device", error);
  return known->second;
}

void HostSampler::readNetwork(Nanos now, EventOut& out) {
  const std::string text = files_.read(under(root_, "proc/net/dev"));
  std::size_t seen = 0;
  forEachLine(text, [&](std::string_view line) {
    const std::size_t colon = line.rfind(':');
    if (colon == std::string_view::npos || ++seen > kDevices) return;
    const auto name = splitWords(line.substr(0, colon), 1);
    const auto words = splitWords(line.substr(colon + 1), 16);
    if (name.empty() || words.size() < 9 || name[0] == "lo" || carriedByOthers(name[0])) return;
    NetworkUsage usage;
    usage.interface = out.intern(name[0]);
    usage.receivedBytes = parseNumber(words[0]).value_or(0);
    usage.sentBytes = parseNumber(words[8]).value_or(0);
    if (usage.receivedBytes == 0 && usage.sentBytes == 0) return;
    out.emit(now, usage);
  });
}

void HostSampler::reportSources(Nanos now, EventOut& out) const {
  const auto report = [&](std::string_view name, std::string_view file, std::string_view why) {
    errno = 0;
    if (!contentOf(under(root_, file), 4096).empty())
      emitSource(out, now, name, Coverage::kFull);
    else if (errno != 0)
      emitSource(out, now, name, Coverage::kAbsent, why);
    else  // a host without disks
      emitSource(out, now, name, Coverage::kAbsent, "/" + std::string(file) + " is empty");
  };
  report("host", "proc/stat", "/proc/stat cannot be read");
  report("pressure", "proc/pressure/io",
         "/proc/pressure is missing; the kernel parameter psi=1 would show it");
  if (::access(under(root_, "sys/block").c_str(), R_OK) == 0)
    report("disk", "proc/diskstats", "/proc/diskstats cannot be read");
  else  // which of those are whole disks is not known
    emitSource(out, now, "disk", Coverage::kAbsent, "/sys/block cannot be read");
  report("network", "proc/net/dev", "/proc/net/dev cannot be read");
}

void HostSampler::sample(Nanos now, EventOut& out) {
  if (!std::exchange(reported_, true)) reportSources(now, out);
  out.emit(now, readHost());
  readDisks(now, out);
  readNetwork(now, out);
}

}  // namespace stallprof
