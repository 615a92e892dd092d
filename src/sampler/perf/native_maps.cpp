// SPDX-License-Identifier: MIT
#include "sampler/perf/native_maps.h"

#include <algorithm>
#include <limits>

#include "sampler/proc/proc_text.h"

namespace stallprof {
namespace {

constexpr std::size_t kMaxPath = 4096;

// What is mapped for execution, named as perf names it.
std::string_view nameOfMapping(std::string_view path) { return path.empty() ? "//anon" : path; }

std::string_view withoutDeleted(std::string_view path) {
  takeDeleted(path);
  return path.substr(0, kMaxPath);
}

// Memory that a program fills with code: nobody's, a memfd's, the heap's.
bool isMadeAtRunTime(std::string_view name) {
  for (const std::string_view begin :
       {"//anon", "[anon", "[heap]", "[stack", "/memfd:", "/dev/zero", "/SYSV", "/anon_hugepage"})
    if (name.starts_with(begin)) return true;
  return false;
}

bool isLinker(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("ld-linux") || name.starts_with("ld-2.") || name.starts_with("ld-musl-");
}

}  // namespace

// Whatever was mapped there before is not any more.
void NativeMaps::insert(Regions& regions, std::uint64_t begin, const Region& region) {
  if (region.end <= begin) return;
  auto at = regions.upper_bound(begin);
  if (at != regions.begin()) {
    const auto before = std::prev(at);
    if (before->second.end > begin) {
      const Region whole = before->second;
      before->second.end = begin;
      if (whole.end > region.end) {
        Region rest = whole;
        rest.offset += region.end - before->first;
        at = regions.emplace(region.end, rest).first;
      }
      if (before->first == begin) at = regions.erase(before);
    }
  }
  while (at != regions.end() && at->first < region.end) {
    if (at->second.end > region.end) {
      Region rest = at->second;
      rest.offset += region.end - at->first;
      regions.emplace(region.end, rest);
    }
    at = regions.erase(at);
  }
  if (regions.size() < kMaxRegions) regions[begin] = region;
}

// The process's regions, not shared with a relative any more.
NativeMaps::Regions& NativeMaps::own(std::uint32_t pid) {
  static Regions nobody;  // past the bound: forgotten at once
  if (!processes_.contains(pid) && processes_.size() >= kMaxProcesses) {
    nobody.clear();
    return nobody;
  }
  std::shared_ptr<Regions>& regions = processes_[pid];
  if (!regions)
    regions = std::make_shared<Regions>();
  else if (regions.use_count() > 1)
    regions = std::make_shared<Regions>(*regions);
  return *regions;
}

void NativeMaps::take(const PerfRecord& record, EventOut& out) {
  switch (record.kind) {
    case PerfRecord::Kind::kMap: {
      const std::uint64_t room = std::numeric_limits<std::uint64_t>::max() - record.address;
      const std::string_view name = withoutDeleted(nameOfMapping(record.path));
      const Region region{record.address + std::min(record.bytes, room),
                          record.offset,
                          out.intern(name),
                          out.intern(record.build),
                          isMadeAtRunTime(name),
                          isLinker(name)};
      return insert(own(record.pid), record.address, region);
    }
    case PerfRecord::Kind::kFork:
      if (record.pid == record.parentPid || processes_.size() >= kMaxProcesses) return;
      if (const auto parent = processes_.find(record.parentPid); parent != processes_.end()) {
        const std::shared_ptr<Regions> shared = parent->second;  // the next line may move it
        processes_[record.pid] = shared;
      }
      return;
    case PerfRecord::Kind::kExec:
    case PerfRecord::Kind::kExit:
      // Threads that outlive their process's first one are found in /proc again.
      if (record.kind == PerfRecord::Kind::kExec || record.pid == record.tid)
        processes_.erase(record.pid);
      return;
    default:
      return;
  }
}

void NativeMaps::takeMaps(std::uint32_t pid, std::string_view maps, EventOut& out,
                          const IsAnother& isAnother) {
  Regions& regions = own(pid);
  const Regions before = std::move(regions);
  regions.clear();
  forEachLine(maps, [&](std::string_view line) {
    const auto mapped = parseMapsLine(line);
    if (!mapped || !mapped->executable) return;
    const std::string_view mapping = nameOfMapping(mapped->path), name = withoutDeleted(mapping);
    Region region{mapped->end, mapped->offset,        out.intern(name),
                  {},          isMadeAtRunTime(name), isLinker(name)};
    if (name.starts_with('/') && !region.madeAtRunTime &&
        (name != mapping || (isAnother && isAnother(name, mapped->inode))))
      region.build = out.intern(kAnotherFile);
    // A record has said more of it than /proc can.
    if (const auto known = before.find(mapped->begin);
        known != before.end() && known->second.file == region.file && !known->second.build.none())
      region.build = known->second.build;
    insert(regions, mapped->begin, region);
  });
}

std::optional<NativeMaps::Place> NativeMaps::find(std::uint32_t pid, std::uint64_t address) const {
  const auto process = processes_.find(pid);
  if (process == processes_.end()) return std::nullopt;
  const Regions& regions = *process->second;
  auto at = regions.upper_bound(address);
  if (at == regions.begin()) return std::nullopt;
  --at;
  if (address >= at->second.end) return std::nullopt;
  const Region& r = at->second;
  return Place{r.file, r.build, address - at->first + r.offset, {}, r.madeAtRunTime, r.linker};
}

}  // namespace stallprof
