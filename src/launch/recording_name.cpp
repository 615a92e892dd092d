// SPDX-License-Identifier: MIT
#include "launch/recording_name.h"

#include <cctype>
#include <ctime>
#include <filesystem>

#include "launch/child_environment.h"

namespace stallprof {
namespace {

constexpr std::size_t kScriptLimit = 64;  // with the rest well under NAME_MAX

std::string scriptOf(const std::vector<std::string>& command) {
  for (std::size_t i = 0; i < command.size(); ++i) {
    if (i > 0 && command[i - 1] == "-m") return command[i];
    if (i > 0 && command[i - 1] == "-c") break;  // program text: no word of it is a script
    if (command[i].size() > 3 && command[i].ends_with(".py"))
      return std::filesystem::path(command[i]).stem().string();
  }
  return command.empty() ? "" : std::filesystem::path(command[0]).filename().string();
}

// A name that no shell, tool or terminal stumbles over.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kScriptLimit)) {
    const bool keep = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
    const bool dash = c == '-' && !out.empty();
    out += (keep && !(out.empty() && c == '.')) || dash ? c : '_';
  }
  return out;
}

}  // namespace

std::string recordingName(const std::vector<std::string>& command, Nanos startedRealtime, int pid,
                          std::string_view rank) {
  const std::time_t at = std::chrono::duration_cast<std::chrono::seconds>(startedRealtime).count();
  std::tm local{};
  localtime_r(&at, &local);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &local);
  const std::string script = plain(scriptOf(command));
  std::string name = (script.empty() ? "run" : script) + "." + stamp + ".p" + std::to_string(pid);
  if (!rank.empty()) name += ".r" + plain(rank);
  return name + ".stallprof";
}

std::string rankOf(const std::vector<std::string>& environment) {
  for (const char* name : {"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"})
    if (const std::string_view rank = valueOf(environment, name); !rank.empty())
      return std::string(rank);
  return {};
}

}  // namespace stallprof
