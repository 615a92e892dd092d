// SPDX-License-Identifier: MIT
#include <map>

#include "analysis/describe/resources.h"
#include "event/file_systems.h"

namespace stallprof {
namespace {

constexpr double kDataBytes = 1 << 20;  // less is a module, a configuration
constexpr double kTwice = 2;
constexpr std::size_t kFewRows = 5;  // times that a file was seen
// Of the times that a file was seen, those of files seen once estimate how much was not seen at all
// (I. J. Good, The population frequencies of species, 1953).
constexpr double kMaxUnseen = 0.05;

struct FileRows {
  std::size_t rows = 0;
  double size = 0;
};

}  // namespace

Maybe<Rereads> rereads(const Trace& trace, const std::function<bool(const ProcessLife&)>& makers,
                       double read, const Interval& within) {
  std::map<std::string_view, FileRows> files;
  std::size_t rows = 0, once = 0;
  for (const auto& row : trace.files) {
    const std::string_view path = trace.text(row.data.path);
    if (!within.contains(row.at) || row.data.size <= 0 || isSystemPath(path) ||
        !makers(trace.process(row.data.process)))
      continue;
    FileRows& file = files[path];
    ++file.rows;
    file.size = static_cast<double>(row.data.size);
    ++rows;
  }
  Rereads all;
  double largest = 0;
  for (const auto& [path, file] : files) {
    all.bytes += file.size;
    once += file.rows == 1;
    if (file.size <= largest) continue;
    largest = file.size;
    all.path = path;
  }
  all.files = files.size();
  const bool unseen = static_cast<double>(once) > kMaxUnseen * static_cast<double>(rows);
  if (rows < kFewRows || unseen || all.bytes < kDataBytes) return {};
  all.times = read / all.bytes;
  if (all.times < kTwice) return {};
  return all;
}

}  // namespace stallprof
