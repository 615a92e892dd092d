// SPDX-License-Identifier: MIT
#include "sampler/processes/mapped_files.h"

#include <charconv>
#include <map>

#include "sampler/proc/proc_file.h"
#include "sampler/proc/proc_text.h"

namespace stallprof {
namespace {

constexpr Nanos kAgain = std::chrono::seconds(10);
constexpr std::size_t kProcessesKept = 1024;
constexpr std::int64_t kData = 1'000'000;  // bytes: locales, fonts and the like are smaller
constexpr double kStandsOut = 0.9;

std::int64_t hexOf(std::string_view text) {
  std::int64_t value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return value;
}

struct Mapped {
  std::int64_t bytes = 0;
  bool program = false;
};

}  // namespace

MappedFiles::File MappedFiles::largest(std::string_view maps) {
  std::map<std::string_view, Mapped> files;
  forEachLine(maps, [&](std::string_view line) {
    // begin-end rights offset device inode PATH, which may hold blanks
    const auto words = splitWords(line, 5);
    const std::size_t slash = line.find('/');
    if (words.size() < 5 || slash == std::string_view::npos) return;
    const std::string_view path = line.substr(slash);
    if (path.starts_with("/dev/") || path.starts_with("/memfd:")) return;
    const std::size_t dash = words[0].find('-');
    if (dash == std::string_view::npos) return;
    Mapped& file = files[path];
    file.program = file.program || words[1].find('x') != std::string_view::npos;
    file.bytes += hexOf(words[0].substr(dash + 1)) - hexOf(words[0].substr(0, dash));
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
