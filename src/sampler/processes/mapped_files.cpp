// SPDX-License-Identifier: MIT
#include "sampler/processes/mapped_files.h"

#include <map>

#include "sampler/proc/proc_file.h"
#include "sampler/proc/proc_text.h"

namespace stallprof {
namespace {

constexpr Nanos kAgain = std::chrono::seconds(10);
constexpr std::size_t kProcessesKept = 1024;
constexpr std::int64_t kData = 1'000'000;  // bytes: locales, fonts and the like are smaller
constexpr double kStandsOut = 0.9;

struct Mapped {
  std::int64_t bytes = 0;
  bool program = false;
};

}  // namespace

MappedFiles::File MappedFiles::largest(std::string_view maps) {
  std::map<std::string_view, Mapped> files;
  forEachLine(maps, [&](std::string_view line) {
    const auto mapped = parseMapsLine(line);
    if (!mapped || !mapped->path.starts_with('/')) return;
    if (mapped->path.starts_with("/dev/") || mapped->path.starts_with("/memfd:")) return;
    Mapped& file = files[mapped->path];
    file.program = file.program || mapped->executable;
    file.bytes += static_cast<std::int64_t>(mapped->end - mapped->begin);
  });
  File largest;
  std::int64_t all = 0;
  for (const auto& [path, file] : files) {
    if (file.program || file.bytes < kData) continue;
    all += file.bytes;
    if (file.bytes > largest.bytes) largest = {std::string(path), file.bytes};
  }
  return static_cast<double>(largest.bytes) >= kStandsOut * static_cast<double>(all) && all > 0
             ? largest
             : File{};
}

const MappedFiles::File& MappedFiles::of(std::uint32_t pid, Nanos now) {
  if (processes_.size() >= kProcessesKept) processes_.clear();
  Known& known = processes_[pid];
  if (known.read < Nanos::zero() || now - known.read >= kAgain) {
    known.read = now;
    known.file = largest(contentOf(processPath(root_, pid, "maps"), 4u << 20));
  }
  return known.file;
}

}  // namespace stallprof
