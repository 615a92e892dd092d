// SPDX-License-Identifier: MIT
#include "analysis/describe/disk_use.h"

#include <algorithm>
#include <map>
#include <vector>

#include "analysis/facts/usage.h"
#include "event/file_systems.h"

namespace stallprof {
namespace {

struct Disk {
  Table<DiskUsage> rows;
  double read = 0, busy = 0;  // in the window: bytes, and its share
};

// Those that the job can have read `bytes` from: the disk with the fewest reads that had as many,
// as others may read more from another one; where none had, it lies on several (RAID, LVM).
std::vector<const Disk*> disksOf(const std::map<StringId, Disk>& disks, double bytes) {
  constexpr double kNearly = 0.9;  // read-ahead and the sample's time differ by a few percent
  std::vector<const Disk*> all;
  for (const auto& [name, disk] : disks) all.push_back(&disk);
  const auto fewer = [](const Disk* a, const Disk* b) { return a->read < b->read; };
  std::stable_sort(all.begin(), all.end(), fewer);
  const auto enough = std::find_if(all.begin(), all.end(),
                                   [&](const Disk* disk) { return disk->read >= kNearly * bytes; });
  if (enough == all.end()) return all;
  return {bytes > 0 ? *enough : all.back()};
}

}  // namespace

void measureDisk(const Trace& trace, const Interval& within, double readByJob, RunFacts& run) {
  if (isOnNoDisk(run.storageType)) return;
  std::map<StringId, Disk> disks;
  for (const auto& row : trace.disks) disks[row.data.device].rows.push_back(row);
  for (auto& [name, disk] : disks) {
    disk.read = growth(disk.rows, &DiskUsage::readBytes, within).value_or(0);
    const auto busy = growth(disk.rows, &DiskUsage::busy, within);
    disk.busy = per(busy, seconds(within.length()) * 1e9).value_or(0);
  }
  double read = 0, busy = 0, widest = 0;
  std::map<Nanos, double> moved;
  for (const Disk* disk : disksOf(disks, readByJob)) {
    read += disk->read;
    busy += disk->read * disk->busy;
    widest = std::max(widest, disk->busy);
    for (const auto& row : disk->rows) moved[row.at] += static_cast<double>(row.data.readBytes);
  }
  if (moved.empty()) return;
  run.diskBusyRatio = read > 0 ? busy / read : widest;
  double best = 0;
  for (auto at = moved.begin(), next = std::next(at); next != moved.end(); at = next++) {
    const double time = seconds(next->first - at->first);
    // An interval below half a second (up to the last sample) is a burst, not a rate.
    if (time > 0.5) best = std::max(best, (next->second - at->second) / time);
  }
  if (best > 0) run.peakReadBytesPerSecond = best;
}

}  // namespace stallprof
