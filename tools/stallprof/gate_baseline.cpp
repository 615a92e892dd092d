// SPDX-License-Identifier: MIT
#include "stallprof/gate_baseline.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/fd.h"
#include "base/text.h"
#include "base/time.h"
#include "gate/verdict.h"
#include "stallprof/output.h"
#include "stallprof/reading.h"

namespace stallprof {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kLargestIndex = 1u << 20;

std::string indexOf(const std::string& directory) {
  return (fs::path(directory) / kBaselineIndex).string();
}

bool isBaseline(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(indexOf(path), ignored);
}

Result<GateRun> readRun(const std::string& path) {
  const Result<std::string> json = readReport(path);
  if (!json.ok()) return json.error();
  Result<GateRun> run = readGateRun(path, json.value());
  if (!run.ok()) return Error(run.error()).within(inQuotes(path));
  return run;
}

Result<Baseline> readIndex(const std::string& directory) {
  const std::string index = indexOf(directory);
  const Result<std::string> json = readFile(index, kLargestIndex);
  if (!json.ok()) return json.error();
  Result<Baseline> baseline = readBaselineIndex(json.value());
  if (!baseline.ok()) return Error(baseline.error()).within(inQuotes(index));
  return baseline;
}

// Days from `since` (RFC 3339, UTC) to now; -1 where it is no time.
long daysSince(const std::string& since) {
  std::tm utc{};
  if (strptime(since.c_str(), "%Y-%m-%dT%H:%M:%SZ", &utc) == nullptr) return -1;
  return static_cast<long>((std::time(nullptr) - timegm(&utc)) / 86400);
}

Result<Done> readSide(const Policy& policy, const std::vector<std::string>& paths,
                      std::vector<GateRun>& runs, std::vector<std::string>& notes) {
  for (const std::string& path : paths) {
    std::vector<std::string> files = {path};
    if (isBaseline(path)) {
      const Result<Baseline> baseline = readIndex(path);
      if (!baseline.ok()) return baseline.error();
      files.clear();
      for (const std::string& name : baseline.value().files)
        files.push_back((fs::path(path) / name).string());
      const long days = daysSince(baseline.value().savedAt);
      if (policy.maxAgeDays > 0 && days > policy.maxAgeDays)
        notes.push_back("The baseline is " + std::to_string(days) +
                        " days old; stallprof gate --baseline update renews it.");
    }
    for (const std::string& file : files) {
      Result<GateRun> run = readRun(file);
      if (!run.ok()) return run.error();
      runs.push_back(std::move(run).value());
    }
  }
  return Done{};
}

struct Kept {
  Baseline index;
  std::vector<std::string> reports;  // JSON, beside index.files
};

// The runs read and found fit to be a base; the status says why not.
int collect(const std::vector<std::string>& runs, Kept& kept) {
  kept.index.savedAt = utcText(realtimeNow(), "%Y-%m-%dT%H:%M:%SZ");
  for (const std::string& path : runs) {
    const Result<std::string> json = readReport(path);
    if (!json.ok()) return fail(json.error().message, 2);
    const Result<GateRun> run = readGateRun(path, json.value());
    if (!run.ok()) return fail(inQuotes(path) + ": " + run.error().message, 2);
    if (failed(run.value()))
      return fail(inQuotes(path) + " is of a command that failed: it cannot be a base", 4);
    for (const std::string& note : notesOn({}, {&run.value(), 1}))
      std::fprintf(stderr, "stallprof: %s\n", note.c_str());
    if (run.value().stepSource.empty())
      return fail(inQuotes(path) + " has no training steps: it cannot be a base", 2);
    if (kept.reports.empty()) kept.index.host = run.value().host;
    if (run.value().host != kept.index.host)
      return fail(inQuotes(path) + " is not of the same host as " + inQuotes(runs[0]), 3);
    kept.reports.push_back(json.value());
  }
  return 0;
}

std::string nameOfRun(std::size_t number) {
  char name[32];
  std::snprintf(name, sizeof name, "run-%03zu.json", number);
  return name;
}

// Names for the new reports that neither a file in `directory` nor the old base has. Where there is
// no old base, whatever has such a name is somebody else's.
Status chooseNames(const std::string& directory, const std::vector<std::string>& old, Kept& kept) {
  for (std::size_t i = 1; kept.index.files.size() < kept.reports.size(); ++i) {
    const std::string name = nameOfRun(i);
    std::error_code error;
    if (std::find(old.begin(), old.end(), name) != old.end()) continue;
    if (!fs::exists(fs::symlink_status(fs::path(directory) / name, error)))
      kept.index.files.push_back(name);
    else if (old.empty())
      return Error{Error::Kind::kUsage, inQuotes((fs::path(directory) / name).string()) +
                                            " exists, and is of no baseline; stallprof never "
                                            "overwrites: choose another directory"};
  }
  return Done{};
}

void removeAll(const std::string& directory, const std::vector<std::string>& names) {
  std::error_code ignored;
  for (const std::string& name : names)
    if (name != kBaselineIndex) fs::remove(fs::path(directory) / name, ignored);
}

// The new reports beside the old ones, then the index in one step: until then the old base holds.
Status store(const std::string& directory, const Kept& kept, const std::vector<std::string>& old) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return ioError("cannot make " + inQuotes(directory), error.value());
  Status written = Done{};
  for (std::size_t i = 0; i < kept.reports.size() && written.ok(); ++i)
    written = writeOutput((fs::path(directory) / kept.index.files[i]).string(), kept.reports[i]);
  if (written.ok()) written = writeOutput(indexOf(directory), baselineIndex(kept.index));
  removeAll(directory, written.ok() ? old : kept.index.files);
  return written;
}

}  // namespace

std::string baselineOf(const Policy& policy) {
  if (policy.baseline.empty()) return {};
  const fs::path named = policy.baseline;
  return named.is_absolute() ? named.string()
                             : (fs::path(policy.file).parent_path() / named).string();
}

Result<Sides> readSides(const Policy& policy, const std::vector<std::string>& base,
                        const std::vector<std::string>& head) {
  Sides sides;
  std::vector<std::string> from = base;
  if (const std::string directory = baselineOf(policy); from.empty() && !directory.empty()) {
    if (isBaseline(directory))
      from.push_back(directory);
    else if (!policy.missingBaselineWarns)
      return Error{Error::Kind::kUsage,
                   "no baseline in " + inQuotes(directory) +
                       ": make one with stallprof gate --baseline save DIR RUN..."};
    else
      sides.notes.push_back("No baseline in " + inQuotes(directory) +
                            " yet: only budgets are tested.");
  }
  if (const auto read = readSide(policy, from, sides.base, sides.notes); !read.ok())
    return read.error();
  if (const auto read = readSide(policy, head, sides.head, sides.notes); !read.ok())
    return read.error();
  return sides;
}

int keepBaseline(bool replace, const std::vector<std::string>& places) {
  if (places.size() < 2)
    return fail("gate --baseline takes DIR RUN...; see stallprof gate --help", 2);
  const std::string& directory = places[0];
  const std::vector<std::string> runs(places.begin() + 1, places.end());
  std::vector<std::string> old;
  if (isBaseline(directory)) {
    if (!replace)
      return fail(inQuotes(directory) + " holds a baseline; --baseline update replaces it", 2);
    const Result<Baseline> there = readIndex(directory);
    if (!there.ok()) return fail(there.error().message, 2);
    old = there.value().files;
  }
  Kept kept;
  if (const int status = collect(runs, kept); status != 0) return status;
  if (const Status chosen = chooseNames(directory, old, kept); !chosen.ok())
    return fail(chosen.error().message, 2);
  if (const Status stored = store(directory, kept, old); !stored.ok())
    return fail(stored.error().message, 2);
  std::printf("stallprof: %zu run%s kept in %s%s\n", runs.size(), runs.size() == 1 ? "" : "s",
              inQuotes(directory).c_str(), runs.size() < 5 ? "; a verdict needs five or more" : "");
  return 0;
}

}  // namespace stallprof
