// SPDX-License-Identifier: MIT
#include "launch/setup/allocator.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "base/elf_file.h"
#include "base/fd.h"
#include "base/malloc_tunables.h"
#include "base/text.h"

namespace stallprof {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> kLibraries = {"jemalloc", "tcmalloc", "mimalloc"};

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Of an environment of its own first: a program of one brings its libraries.
std::vector<std::string> folders(const std::string& root) {
  std::vector<std::string> found;
  std::istringstream paths(variable("LD_LIBRARY_PATH"));
  for (std::string each; std::getline(paths, each, ':');)
    if (!each.empty()) found.push_back(each);
  for (const char* prefix : {"CONDA_PREFIX", "VIRTUAL_ENV"})
    if (!variable(prefix).empty()) found.push_back(variable(prefix) + "/lib");
  for (const char* each : {"/usr/local/lib", "/usr/lib/x86_64-linux-gnu",
                           "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"})
    found.push_back(root + each);
  return found;
}

// libtcmalloc_minimal.so.4 before libtcmalloc.so.4, which also takes profiles.
std::optional<std::string> libraryIn(const std::string& folder, std::string_view name) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string file = entry.path().filename();
    for (const char* end : {".so", "_minimal.so"})
      if (file.starts_with("lib" + std::string(name) + end)) names.push_back(file);
  }
  if (names.empty()) return std::nullopt;
  const auto first = std::min_element(names.begin(), names.end(), [](const auto& a, const auto& b) {
    const bool ofA = a.find("_minimal") != a.npos, ofB = b.find("_minimal") != b.npos;
    return ofA != ofB ? ofA : a < b;
  });
  return folder + "/" + *first;
}

Error unusable(const std::string& why) { return {Error::Kind::kUsage, "--allocator " + why}; }

std::string variableIn(const std::vector<std::string>& environment, const std::string& name) {
  for (auto word = environment.rbegin(); word != environment.rend(); ++word)
    if (word->starts_with(name + "=")) return word->substr(name.size() + 1);
  return variable(name.c_str());
}

// The dynamic loader only warns of what it cannot preload, and starts the program without.
Result<std::string> preloading(const std::string& path,
                               const std::vector<std::string>& environment) {
  std::error_code error;
  const fs::path library = fs::absolute(path, error);
  Fd file = openAt(AT_FDCWD, library.c_str(), O_RDONLY);
  if (error || !file.valid()) return unusable("cannot read the library " + inQuotes(path));
  if (!ElfFile::open(std::move(file)))
    return unusable("takes no " + inQuotes(path) + ": it is no library");
  if (library.native().find_first_of(" :") != std::string::npos)
    return unusable("takes no path with spaces or colons, as " + inQuotes(path) +
                    ": LD_PRELOAD separates by them");
  const std::string now = variableIn(environment, "LD_PRELOAD");
  return "LD_PRELOAD=" + library.string() + (now.empty() ? "" : ":" + now);
}

}  // namespace

Result<std::string> allocatorVariable(std::string_view name,
                                      const std::vector<std::string>& environment,
                                      const std::string& root) {
  if (name == "keep") {
    const std::string now = variableIn(environment, kMallocVariable);
    return std::string(kMallocVariable) + "=" + (now.empty() ? "" : now + ":") + kMallocKeeps;
  }
  if (name.find('/') != name.npos) return preloading(std::string(name), environment);
  if (std::find(kLibraries.begin(), kLibraries.end(), name) == kLibraries.end())
    return unusable("takes keep, jemalloc, tcmalloc, mimalloc or the path of a library, not " +
                    inQuotes(name));
  const std::vector<std::string> searched = folders(root);
  for (const std::string& folder : searched)
    if (auto library = libraryIn(folder, name)) return preloading(*library, environment);
  return unusable("finds no lib" + std::string(name) + " in " + joined(searched, ", ") +
                  ": install it, or give the library's path");
}

}  // namespace stallprof
