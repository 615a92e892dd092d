// SPDX-License-Identifier: MIT
#include "launch/setup/recording_name.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "base/text.h"
#include "launch/setup/child_environment.h"

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

std::string stampOf(Nanos realtime) { return localText(realtime, "%Y%m%d-%H%M%S"); }

std::string scriptName(const std::vector<std::string>& command) {
  const std::string script = plain(scriptOf(command));
  return script.empty() ? "run" : script;
}

std::string hostName() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

// Takes a pattern apart: texts as they stand, and letters with what they carry in braces. False
// where it is wrong.
template <class Text, class Letter>
bool takeApart(std::string_view pattern, Text&& text, Letter&& letter) {
  constexpr std::string_view kLetters = "stphr";
  while (!pattern.empty()) {
    const std::size_t percent = std::min(pattern.find('%'), pattern.size());
    text(pattern.substr(0, percent));
    pattern.remove_prefix(percent);
    if (pattern.empty()) break;
    if (pattern.starts_with("%%")) {
      text("%");
      pattern.remove_prefix(2);
    } else if (pattern.size() > 1 && kLetters.find(pattern[1]) != std::string_view::npos) {
      letter(pattern[1], std::string_view());
      pattern.remove_prefix(2);
    } else if (const std::size_t end = pattern.find('}');
               pattern.starts_with("%q{") && end != std::string_view::npos && end > 3) {
      letter('q', pattern.substr(3, end - 3));
      pattern.remove_prefix(end + 1);
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string recordingNameBy(const std::string& pattern, const std::vector<std::string>& command,
                            Nanos startedRealtime, int pid,
                            const std::vector<std::string>& environment) {
  std::string name;
  const auto value = [&](char letter, std::string_view variable) -> std::string {
    if (letter == 's') return scriptName(command);
    if (letter == 't') return stampOf(startedRealtime);
    if (letter == 'p') return std::to_string(pid);
    if (letter == 'h') return plain(hostName());
    if (letter == 'q') return plain(valueOf(environment, variable));
    const std::string rank = rankOf(environment);
    return rank.empty() ? "0" : plain(rank);
  };
  takeApart(
      pattern, [&](std::string_view text) { name += text; },
      [&](char letter, std::string_view variable) { name += value(letter, variable); });
  while (name.size() > 1 && name.ends_with('/')) name.pop_back();
  return name.ends_with(".stallprof") ? name : name + ".stallprof";
}

Status checkNamePattern(const std::string& pattern) {
  const auto ignore = [](auto&&...) {};
  if (takeApart(pattern, ignore, ignore)) return Done{};
  return Error{Error::Kind::kUsage,
               "--name takes %s, %t, %p, %h, %r, %q{VAR} and %% beside plain text, not '" +
                   escapeTerminal(pattern, 200) + "'"};
}

std::string recordingName(const std::vector<std::string>& command, Nanos startedRealtime, int pid,
                          std::string_view rank) {
  std::string name =
      scriptName(command) + "." + stampOf(startedRealtime) + ".p" + std::to_string(pid);
  if (!rank.empty()) name += ".r" + plain(rank);
  return name + ".stallprof";
}

std::string rankOf(const std::vector<std::string>& environment) {
  for (const char* name : {"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK",
                           "PALS_RANKID", "MV2_COMM_WORLD_RANK"})
    if (const std::string_view rank = valueOf(environment, name); !rank.empty())
      return std::string(rank);
  return {};
}

}  // namespace stallprof
