// SPDX-License-Identifier: MIT
#include "launch/child_environment.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/fd.h"

namespace stallprof {
namespace {

constexpr std::string_view kPythonPath = "PYTHONPATH";

bool names(std::string_view word, std::string_view name) {
  return word.size() > name.size() && word.starts_with(name) && word[name.size()] == '=';
}

std::string pythonPath(const std::string& hook, std::string_view old) {
  std::string path = hook;
  while (!old.empty()) {
    const std::size_t colon = old.find(':');
    const std::string_view entry = old.substr(0, colon);
    if (entry != hook) path.append(":").append(entry);
    if (colon == std::string_view::npos) break;
    old.remove_prefix(colon + 1);
    if (old.empty()) path += ':';  // a trailing ':' means the working directory: keep it
  }
  return path;
}

Status ownedSafely(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return ioError("'" + path + "'", errno);
  const bool ours = info.st_uid == 0 || info.st_uid == ::geteuid();
  if (!ours || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return Error{Error::Kind::kUnsupported, "'" + path + "' can be written by other users"};
  return Done{};
}

}  // namespace

std::vector<std::string> withInjection(const std::vector<std::string>& environment,
                                       const Injection& injection) {
  std::vector<std::string> words;
  const auto ours = [&](const std::string& word) {
    return names(word, kEventsVariable) || names(word, kRecordingVariable) ||
           (!injection.hookDirectory.empty() && names(word, kPythonPath));
  };
  std::remove_copy_if(environment.begin(), environment.end(), std::back_inserter(words), ours);
  if (!injection.hookDirectory.empty())
    words.push_back(std::string(kPythonPath) + "=" +
                    pythonPath(injection.hookDirectory, valueOf(environment, kPythonPath)));
  if (!injection.events.empty())
    words.push_back(std::string(kEventsVariable) + "=" + injection.events);
  words.push_back(std::string(kRecordingVariable) + "=" + injection.recording);
  return words;
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

Result<std::string> findHook() {
  std::error_code error;
  const auto binary = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return Error{Error::Kind::kIo, "finding our own binary: " + error.message()};
  const std::string directory =
      (binary.parent_path().parent_path() / "lib" / "stallprof" / "hook").string();
  if (const Status fit = checkHook(directory); !fit.ok()) return Error(fit.error());
  return directory;
}

Status checkHook(const std::string& directory) {
  if (directory.find(':') != std::string::npos)
    return Error{Error::Kind::kUnsupported, "PYTHONPATH cannot hold '" + directory + "'"};
  if (const Status safe = ownedSafely(directory); !safe.ok()) return safe;
  return ownedSafely(directory + "/sitecustomize.py");
}

}  // namespace stallprof
