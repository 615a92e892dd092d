// SPDX-License-Identifier: MIT
#include "stallprof/running.h"

#include <algorithm>
#include <filesystem>

#include "base/fd.h"
#include "launch/setup/child_environment.h"
#include "recording/reader.h"

namespace stallprof {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> entriesOf(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error))
    names.push_back(entry->path().filename().string());
  return names;
}

// Where a recorder has its segment open.
std::string directoryOf(const std::string& pid) {
  const fs::path descriptors = "/proc/" + pid + "/fd";
  for (const std::string& fd : entriesOf(descriptors)) {
    std::error_code error;
    const fs::path file = fs::read_symlink(descriptors / fd, error);
    if (!error && file.extension() == ".seg") return file.parent_path().string();
  }
  return "";
}

bool madeBy(const std::string& directory, pid_t pid) {
  const auto manifest = readManifest(directory);
  return manifest.ok() && (manifest.value().frontPid == static_cast<std::uint32_t>(pid) ||
                           manifest.value().recorderPid == static_cast<std::uint32_t>(pid));
}

}  // namespace

std::vector<Running> runningRecordings() {
  std::vector<Running> found;
  for (const std::string& pid : entriesOf("/proc")) {
    if (!std::all_of(pid.begin(), pid.end(), [](char c) { return c >= '0' && c <= '9'; })) continue;
    const auto comm = readFile("/proc/" + pid + "/comm", 64);
    if (!comm.ok() || comm.value() != "stallprof-rec\n") continue;
    if (std::string directory = directoryOf(pid); !directory.empty())
      found.push_back({std::move(directory), static_cast<pid_t>(std::stol(pid))});
  }
  return found;
}

std::string recordingOfProcess(pid_t pid) {
  if (const auto environment = wordsOfProcess(pid, "environ"); environment.ok())
    if (const auto directory = valueOf(environment.value(), kRecordingVariable); !directory.empty())
      return std::string(directory);
  for (const Running& running : runningRecordings())
    if (running.recorder == pid || madeBy(running.directory, pid)) return running.directory;
  return "";
}

}  // namespace stallprof
