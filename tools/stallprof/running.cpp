// SPDX-License-Identifier: MIT
#include "stallprof/running.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <variant>

#include "base/fd.h"
#include "event/event.h"
#include "event/strings.h"
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

// As one does that was attached: nothing in the process says so. Numbers are of a namespace.
bool records(const Running& running, pid_t pid) {
  std::error_code error;
  const fs::path space = "/proc/" + std::to_string(running.recorder) + "/ns/pid";
  if (fs::read_symlink(space, error) != fs::read_symlink("/proc/self/ns/pid", error)) return false;
  Strings strings;
  std::optional<ProcessId> found;
  (void)readRecording(running.directory, strings, [&](const Event& event) {
    if (const auto* seen = std::get_if<ProcessSeen>(&event.payload))
      if (seen->pid == static_cast<std::uint32_t>(pid)) found = seen->process;
    if (const auto* gone = std::get_if<ProcessGone>(&event.payload))
      if (found == gone->process) found.reset();
  });
  return found.has_value();
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

bool stillRuns(const std::string& recording) {
  const std::vector<Running> all = runningRecordings();
  return std::any_of(all.begin(), all.end(), [&](const Running& running) {
    std::error_code error;
    return fs::equivalent(running.directory, recording, error);
  });
}

std::string recordingOfProcess(pid_t pid) {
  const auto environment = wordsOfProcess(pid, "environ");
  const std::string named(environment.ok() ? valueOf(environment.value(), kRecordingVariable) : "");
  if (!named.empty() && stillRuns(named)) return named;
  const std::vector<Running> all = runningRecordings();
  for (const Running& running : all)
    if (running.recorder == pid || madeBy(running.directory, pid)) return running.directory;
  for (const Running& running : all)
    if (records(running, pid)) return running.directory;
  return named;  // of a run that has ended, or whose recorder is not ours to see
}

}  // namespace stallprof
