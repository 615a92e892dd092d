// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "event/event_out.h"
#include "sampler/perf_rings/perf_records.h"

namespace stallprof {

// Which file is mapped where in each process: from the records of a perf ring, in order of time,
// and from /proc/PID/maps. Forked processes share their parent's until one of them maps. Bounded:
// what does not fit is not found.
class NativeMaps {
 public:
  static constexpr std::size_t kMaxRegions = 4096;  // of a process; torch with CUDA has 700
  static constexpr std::size_t kMaxProcesses = 16384;

  // As a build id of a file that is not the one we find by its path: nothing is named from that.
  static constexpr char kAnotherFile[] = "?";

  struct Place {
    StringId file, build;
    std::uint64_t offset = 0;
    StringId function{};         // where it is known already: of code made at run time
    bool madeAtRunTime = false;  // not a file's code, as it seems
    bool linker = false;         // the dynamic linker's
  };

  // kMap, kFork, kExec and kExit; others change nothing.
  void take(const PerfRecord& record, EventOut& out);
  // Whether the process's file of that path and inode is another than the one that we find by it.
  using IsAnother = std::function<bool(std::string_view path, std::uint64_t inode)>;
  // The text of /proc/PID/maps: its executable mappings replace what was known of the process.
  void takeMaps(std::uint32_t pid, std::string_view maps, EventOut& out,
                const IsAnother& isAnother = {});
  [[nodiscard]] std::optional<Place> find(std::uint32_t pid, std::uint64_t address) const;
  [[nodiscard]] std::size_t processes() const { return processes_.size(); }

 private:
  struct Region {
    std::uint64_t end = 0, offset = 0;
    StringId file, build;
    bool madeAtRunTime = false, linker = false;
  };
  using Regions = std::map<std::uint64_t, Region>;  // by begin; they do not overlap
  void insert(Regions& regions, std::uint64_t begin, const Region& region);
  [[nodiscard]] Regions& own(std::uint32_t pid);

  std::unordered_map<std::uint32_t, std::shared_ptr<Regions>> processes_;
};

}  // namespace stallprof
