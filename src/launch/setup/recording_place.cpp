// SPDX-License-Identifier: MIT
#include "launch/setup/recording_place.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/fd.h"
#include "base/text.h"
#include "base/time.h"
#include "launch/setup/child_environment.h"
#include "launch/setup/recording_name.h"

namespace stallprof {
namespace {

bool exists(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

constexpr char kTemporary[] = "/tmp";
constexpr int kNames = 10'000;  // of one stem

bool writable(const std::string& directory) {
  return ::access(directory.c_str(), W_OK | X_OK) == 0;
}

// A name without a place is of the working directory; where that is read-only, of the one for
// temporary files.
std::string inUsualPlace(const std::string& name, const std::vector<std::string>& environment) {
  if (name.find('/') != std::string::npos || writable(".")) return name;
  const std::string_view wanted = valueOf(environment, "TMPDIR");
  return (std::filesystem::path(wanted.empty() ? kTemporary : wanted) / name).string();
}

// Not ".stallprof" in a directory, which nobody would see, nor "...stallprof".
bool namesFile(const std::string& recording) {
  const std::string stem = std::filesystem::path(recording).stem().string();
  return stem != ".stallprof" && stem.find_first_not_of('.') != std::string::npos;
}

// The first file beside the recording that a report would have and that is there; empty: none.
std::string takenReport(const std::string& recording,
                        const std::vector<LaunchOptions::Report>& reports) {
  for (const auto& report : reports)
    if (const std::string file = reportFile(recording, report); report.file.empty() && exists(file))
      return file;
  return {};
}

// The recording by that name, or by the first number behind it that neither a recording nor a
// report has: containers that share a directory may share pid and second. Empty: all have one.
std::string untaken(std::string name, const std::vector<LaunchOptions::Report>& reports) {
  const std::string stem = name.substr(0, name.size() - std::string(".stallprof").size());
  const auto taken = [&] { return exists(name) || !takenReport(name, reports).empty(); };
  for (int i = 2; taken(); ++i) {
    if (i == kNames) return {};
    name = stem + "." + std::to_string(i) + ".stallprof";
  }
  return name;
}

Error existsAlready(const std::string& file, const std::string& whatToDo) {
  return {Error::Kind::kUsage, inQuotes(file) + " exists; stallprof never overwrites: " + whatToDo};
}

// A link to a pipe or a device is followed, one to a file, or to nothing, is not.
bool leadsToFile(const std::string& path) {
  struct stat link {
  }, target{};
  if (::lstat(path.c_str(), &link) != 0 || !S_ISLNK(link.st_mode)) return false;
  return ::stat(path.c_str(), &target) != 0 || S_ISREG(target.st_mode);
}

// Whether the reports' files can be written.
Status checkReports(const std::vector<LaunchOptions::Report>& reports) {
  for (const auto& report : reports) {
    if (report.file.empty()) continue;
    if (leadsToFile(report.file))
      return Error{Error::Kind::kIo,
                   "cannot write the report " + inQuotes(report.file) + ": it is a symbolic link"};
    std::error_code ignored;
    const auto parent = std::filesystem::path(report.file).parent_path().string();
    const int error = std::filesystem::is_directory(report.file, ignored) ? EISDIR
                      : writable(parent.empty() ? "." : parent)           ? 0
                                                                          : errno;
    if (error != 0)
      return Error{Error::Kind::kIo,
                   "cannot write the report " + inQuotes(report.file) + ": " + errnoText(error)};
  }
  return Done{};
}

}  // namespace

std::string reportFile(const std::string& recording, const LaunchOptions::Report& report) {
  if (!report.file.empty() || report.format == "text") return report.file;
  constexpr std::string_view kSuffix = ".stallprof";
  const std::size_t suffix = recording.ends_with(kSuffix) ? kSuffix.size() : 0;
  return recording.substr(0, recording.size() - suffix) + ".report." + report.format;
}

Result<std::string> chooseRecording(const LaunchOptions& options,
                                    const std::vector<std::string>& environment) {
  std::string name = options.output;
  if (name.empty()) {
    name = options.name.empty()
               ? recordingName(options.command, realtimeNow(), ::getpid(), rankOf(environment))
               : recordingNameBy(options.name, options.command, realtimeNow(), ::getpid(),
                                 environment);
    if (options.name.empty()) name = inUsualPlace(name, environment);
    if (!namesFile(name))
      return Error{Error::Kind::kUsage, "--name " + inQuotes(options.name) +
                                            " gives no name of a recording, but " + inQuotes(name)};
    const std::string first = name;
    name = untaken(first, options.reports);
    if (name.empty()) return existsAlready(first, "choose another with -o");
  }
  while (name.size() > 1 && name.ends_with('/')) name.pop_back();
  // One that was free a moment ago may be another rank's by now: its creation finds that.
  const bool given = !options.output.empty();
  if (given && exists(name)) return existsAlready(name, "choose another with -o");
  const auto parent = std::filesystem::path(name).parent_path().string();
  const std::string directory = parent.empty() ? "." : parent;
  if (!writable(directory))
    return Error{options.output.empty() && options.name.empty() ? Error::Kind::kUnsupported
                                                                : Error::Kind::kIo,
                 "cannot write the recording into " + inQuotes(directory) + ": " +
                     errnoText(errno) + "; choose another place with -o"};
  if (const Status fit = checkReports(options.reports); !fit.ok()) return fit.error();
  if (const std::string file = takenReport(name, options.reports); given && !file.empty())
    return existsAlready(file, "choose another file (--report FORMAT=FILE)");
  return name;
}

}  // namespace stallprof
