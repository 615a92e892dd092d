// SPDX-License-Identifier: MIT
#include "stallprof/export_timeline.h"

#include <cstdio>
#include <filesystem>

#include "base/text.h"
#include "base/units.h"
#include "present/timeline/hta_trace.h"
#include "stallprof/output.h"

namespace stallprof {
namespace {

// What the file holds, since it may stand for more than it shows.
void sayWritten(const std::string& what, const TraceWritten& written) {
  const TimelineSummary& s = written.summary;
  std::fprintf(stderr, "stallprof: %s%s, %s slices%s\n", what.c_str(),
               bytesText(static_cast<double>(written.bytes)).c_str(),
               countText(static_cast<std::int64_t>(s.slices)).c_str(),
               s.whole ? ", the whole recording" : "; in full:");
  if (s.whole) return;
  for (const std::string& interval : s.detail) std::fprintf(stderr, "  %s\n", interval.c_str());
  if (s.merged > 0)
    std::fprintf(stderr, "  (elsewhere %s slices merged or left out; --detail full writes more)\n",
                 countText(static_cast<std::int64_t>(s.merged)).c_str());
}

Status writeTimeline(const std::string& file, const Reading& reading,
                     const TimelineOptions& options, TimelineWriter writer, TraceWritten& written) {
  return writeOutputBy(file, [&](const TakeBytes& take) {
    written = writer(reading.trace, reading.analyzed, options, take);
    return written.ok;
  });
}

bool isRankTrace(const std::string& name) {
  return name.rfind("rank", 0) == 0 && std::filesystem::path(name).extension() == ".json";
}

// Traces of other ranks may lie there; the Error says what else is in the way.
Status makeDirectory(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directory(directory, error);
  const auto refused = [&](const std::string& why) {
    return Error{Error::Kind::kIo, "cannot write into " + inQuotes(directory) + ": " + why};
  };
  if (error) return refused(error.message());
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error))
    if (const std::string name = at->path().filename().string(); !isRankTrace(name))
      return refused("HTA takes what is in it for traces, and " + inQuotes(name) +
                     " is none of a rank; name a new directory");
  if (error) return refused(error.message());
  return Done{};
}

Status mustBeNew(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, error))) return Done{};
  return Error{Error::Kind::kIo, inQuotes(path) + " is there already; name a new directory"};
}

}  // namespace

int exportTimeline(const std::string& file, const Reading& reading, bool full,
                   TimelineWriter writer) {
  TimelineOptions options;
  options.full = full;
  TraceWritten written;
  const Status status = writeTimeline(file, reading, options, writer, written);
  if (!status.ok()) return fail(status.error().message, 1);
  sayWritten("", written);
  return 0;
}

int exportHta(const std::string& directory, const Reading& reading, bool full) {
  const Roles& roles = reading.analyzed.roles;
  if (directory.empty() || directory == "-")
    return fail("hta is a directory with a trace a rank: name it with -o", 2);
  if (roles.trainers.empty()) return fail("no training steps in the recording, which HTA needs", 1);
  if (const Status made = makeDirectory(directory); !made.ok())
    return fail(made.error().message, 1);
  TimelineOptions options;
  options.full = full;
  for (; options.trainer < roles.trainers.size(); ++options.trainer) {
    const std::string name = htaFileName(rankOf(reading.trace, roles, options.trainer));
    const std::string file = directory + "/" + name;
    if (const Status fresh = mustBeNew(file); !fresh.ok()) return fail(fresh.error().message, 1);
    TraceWritten written;
    const Status status = writeTimeline(file, reading, options, writeHtaTrace, written);
    if (!status.ok()) return fail(status.error().message, 1);
    sayWritten(name + ": ", written);
  }
  if (reading.trace.deviceWorks.empty())
    std::fprintf(stderr,
                 "  (no GPU work in it one by one: HTA reads steps and ranks, its views of kernels "
                 "and idle time have nothing to show)\n");
  return 0;
}

}  // namespace stallprof
