// SPDX-License-Identifier: MIT
#include "launch/setup/child_environment.h"

#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "base/fd.h"
#include "recording/memory/ring.h"
#include "sampler/proc/proc_text.h"

namespace stallprof {
namespace {

constexpr std::string_view kPythonPath = "PYTHONPATH";
constexpr std::string_view kAgentFile = "libstallprof_agent.so";

bool names(std::string_view word, std::string_view name) {
  return word.size() > name.size() && word.starts_with(name) && word[name.size()] == '=';
}

// Where the user has none, ours ends in a slash: what a job adds to it would follow an empty entry
// then, the working directory, which the hook puts in its own place (hook/sitecustomize.py).
std::string pythonPath(const std::string& hook, std::string_view old) {
  const std::string alone = hook + "/";
  if (old.empty() || old == alone) return alone;
  std::string path = hook;
  while (!old.empty()) {
    const std::size_t colon = old.find(':');
    std::string_view entry = old.substr(0, colon);
    if (entry == alone) entry = {};
    if (entry != hook) path.append(":").append(entry);
    if (colon == std::string_view::npos) break;
    old.remove_prefix(colon + 1);
    if (old.empty()) path += ':';  // a trailing ':' means the working directory: keep it
  }
  return path;
}

// Whoever may write our own program has us already: what lies beside it may be theirs too. Under
// the umask of many systems pip leaves both writable by the user's group.
Status ownedSafely(const std::string& path, const std::string& program) {
  struct stat info {
  }, own{};
  if (::stat(path.c_str(), &info) != 0) return ioError("'" + path + "'", errno);
  const bool known = ::stat(program.c_str(), &own) == 0;
  const bool ours =
      info.st_uid == 0 || info.st_uid == ::geteuid() || (known && info.st_uid == own.st_uid);
  const bool group = (info.st_mode & S_IWGRP) == 0 ||
                     (known && (own.st_mode & S_IWGRP) != 0 && own.st_gid == info.st_gid);
  if (!ours || !group || (info.st_mode & S_IWOTH) != 0)
    return Error{Error::Kind::kUnsupported, "'" + path + "' can be written by other users"};
  return Done{};
}

bool foreign(std::string_view value) {
  if (value.empty() || value == "none") return false;
  const std::size_t slash = value.rfind('/');
  return value.substr(slash == std::string_view::npos ? 0 : slash + 1) != kAgentFile;
}

// A directory of lib/stallprof beside our own binary's.
Result<std::filesystem::path> ourLibraries() {
  std::error_code error;
  const auto binary = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return Error{Error::Kind::kIo, "finding our own binary: " + error.message()};
  return binary.parent_path().parent_path() / "lib" / "stallprof";
}

}  // namespace

std::vector<std::string> withInjection(const std::vector<std::string>& environment,
                                       const Injection& injection) {
  std::vector<std::string> words;
  // Ours of an outer run goes in any case: its memory is not ours.
  const auto replaced = [&](const std::string& word, std::string_view name) {
    if (!names(word, name)) return false;
    const std::string_view value = std::string_view(word).substr(name.size() + 1);
    return value.ends_with(kAgentFile) || (!injection.agent.empty() && !foreign(value));
  };
  const auto ours = [&](const std::string& word) {
    return names(word, kEventsVariable) || names(word, kRecordingVariable) ||
           names(word, kActivityVariable) ||
           (!injection.hookDirectory.empty() && names(word, kPythonPath)) ||
           replaced(word, kCudaVariable) || replaced(word, kNvtxVariable);
  };
  std::remove_copy_if(environment.begin(), environment.end(), std::back_inserter(words), ours);
  if (!injection.hookDirectory.empty())
    words.push_back(std::string(kPythonPath) + "=" +
                    pythonPath(injection.hookDirectory, valueOf(environment, kPythonPath)));
  if (!injection.events.empty())
    words.push_back(std::string(kEventsVariable) + "=" + injection.events);
  words.push_back(std::string(kRecordingVariable) + "=" + injection.recording);
  if (injection.agent.empty()) return words;
  const auto inject = [&](const char* name) {
    if (!foreign(valueOf(environment, name)))
      words.push_back(std::string(name) + "=" + injection.agent);
  };
  if (!injection.activity.empty()) {
    words.push_back(std::string(kActivityVariable) + "=" + injection.activity);
    inject(kCudaVariable);
  }
  inject(kNvtxVariable);
  return words;
}

void restoreEnvironment() {
  if (::getauxval(AT_SECURE) == 0 || ::getuid() != ::geteuid() || ::getgid() != ::getegid()) return;
  const auto stat = readFile("/proc/self/stat", 4096);
  if (!stat.ok()) return;
  // Its 50th and 51st values, from which on to which the words lie in memory; the name, in
  // brackets, may hold spaces.
  std::istringstream values(stat.value().substr(stat.value().rfind(')') + 1));
  std::string skipped;
  for (int i = 3; i < 50; ++i) values >> skipped;
  std::uintptr_t begin = 0, end = 0;
  values >> begin >> end;
  if (begin == 0 || end < begin) return;
  static auto& words = *new std::vector<char*>;  // as long as the process
  for (auto* word = reinterpret_cast<char*>(begin); word < reinterpret_cast<char*>(end);
       word += std::strlen(word) + 1)
    words.push_back(word);
  words.push_back(nullptr);
  environ = words.data();
}

std::vector<std::string> currentEnvironment() {
  std::vector<std::string> words;
  for (char** word = environ; word != nullptr && *word != nullptr; ++word)
    words.emplace_back(*word);
  return words;
}

std::string_view valueOf(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& word : environment)
    if (names(word, name)) return std::string_view(word).substr(name.size() + 1);
  return {};
}

Result<std::vector<std::string>> wordsOfProcess(pid_t pid, const char* file) {
  constexpr std::size_t kMaxBytes = 4u << 20;
  const auto text = readFile("/proc/" + std::to_string(pid) + "/" + file, kMaxBytes);
  if (!text.ok()) return text.error();
  return parseCommandLine(text.value(), kMaxBytes);
}

bool isRecorded(const std::vector<std::string>& environment) {
  const std::string events(valueOf(environment, kEventsVariable));
  return !events.empty() &&
         EventMemory::isOf(events, std::string(valueOf(environment, kRecordingVariable)));
}

Result<std::string> findHook() {
  const auto libraries = ourLibraries();
  if (!libraries.ok()) return Error(libraries.error());
  const std::string directory = (libraries.value() / "hook").string();
  if (const Status fit = checkHook(directory); !fit.ok()) return Error(fit.error());
  return directory;
}

Status checkHook(const std::string& directory, const std::string& program) {
  if (directory.find(':') != std::string::npos)
    return Error{Error::Kind::kUnsupported, "PYTHONPATH cannot hold '" + directory + "'"};
  if (const Status safe = ownedSafely(directory, program); !safe.ok()) return safe;
  return ownedSafely(directory + "/sitecustomize.py", program);
}

Result<std::string> findAgent() {
  const auto libraries = ourLibraries();
  if (!libraries.ok()) return Error(libraries.error());
  const std::string file = (libraries.value() / kAgentFile).string();
  if (const Status fit = checkAgent(file); !fit.ok()) return Error(fit.error());
  return file;
}

Status checkAgent(const std::string& file) {
  constexpr const char* kProgram = "/proc/self/exe";
  const std::string directory = std::filesystem::path(file).parent_path().string();
  if (const Status safe = ownedSafely(directory, kProgram); !safe.ok()) return safe;
  return ownedSafely(file, kProgram);
}

std::string foreignInjection(const std::vector<std::string>& environment,
                             std::string_view variable) {
  const std::string_view value = valueOf(environment, variable);
  if (!foreign(value)) return {};
  return std::string(variable) + " is another tool's ('" + std::string(value) + "')";
}

}  // namespace stallprof
