// SPDX-License-Identifier: MIT
#include "sampler/processes/hook_reach.h"

#include <linux/capability.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "sampler/proc/proc_file.h"
#include "sampler/proc/proc_text.h"

namespace stallprof {
namespace {

constexpr std::size_t kStatusBytes = 8192;
constexpr std::size_t kWordsBytes = 64u << 10;         // of a command line: options come first
constexpr std::size_t kEnvironmentBytes = 256u << 10;  // ours is put at the end

std::uint64_t capabilities(std::string_view status, std::string_view key) {
  const auto words = wordsOf(status, key);
  return words.empty() ? 0 : std::strtoull(std::string(words[0]).c_str(), nullptr, 16);
}

// Real, effective, saved and that of file accesses.
std::vector<std::string_view> idsOf(std::string_view status, std::string_view key) {
  auto words = wordsOf(status, key);
  words.resize(4);
  return words;
}

// As the kernel's ptrace_may_access asks it: all ids of the recorder are the process's own.
bool same(std::string_view theirs, std::string_view ours, std::string_view key) {
  const auto own = idsOf(ours, key);
  const auto id = idsOf(theirs, key)[3];
  return own[0] == id && own[1] == id && own[2] == id;
}

bool isNamed(const LiveProcess& process, std::string_view name) {
  const std::size_t slash = process.exe.rfind('/');
  return process.comm.starts_with(name) ||
         (slash != std::string::npos && process.exe.compare(slash + 1, name.size(), name) == 0);
}

// The option of the interpreter that keeps it from loading the hook, "-I" among "-sIc"; 0: none.
char isolatingOption(const std::vector<std::string>& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.size() < 2 || word[0] != '-' || word == "--") return 0;
    if (word == "--check-hash-based-pycs") ++i;  // the next word is its value
    if (word[1] == '-') continue;
    const std::size_t own = std::min(word.find_first_of("cmWX"), word.size());
    const std::size_t found = word.find_first_of("EIS");
    if (found < own) return word[found];
    if (own == word.size()) continue;
    if (word[own] == 'c' || word[own] == 'm') return 0;  // what follows is the program's
    if (own + 1 == word.size()) ++i;                     // -W and -X: the next word is its value
  }
  return 0;
}

// Not too long to be all there, and not written over by the program itself (setproctitle): each is
// NAME=value.
bool isWhole(std::string_view environment) {
  if (environment.empty() || environment.size() >= kEnvironmentBytes) return false;
  while (!environment.empty()) {
    const std::string_view one = environment.substr(0, environment.find('\0'));
    environment.remove_prefix(std::min(one.size() + 1, environment.size()));
    const std::size_t name = one.find('=');
    if (name == 0 || name == std::string_view::npos) return false;
    if (one.substr(0, name).find_first_of(" \t:") != std::string_view::npos) return false;
  }
  return true;
}

// sitecustomize.py steps aside in these: "python3.13t", "python3.7". The name is that of the file,
// behind all links.
std::string whyOtherPython(std::string_view exe) {
  constexpr std::string_view kName = "python3.";
  constexpr int kOldest = 8;
  std::string_view name = exe.substr(exe.rfind('/') + 1);
  if (!name.starts_with(kName)) return {};
  name.remove_prefix(kName.size());
  const auto minor = parseNumber(name);
  const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
  if (digits > 0 && name.substr(digits).starts_with('t'))
    return "is free-threaded: the hook is made for a Python with its lock";
  return minor && *minor < kOldest ? "is older than Python 3.8: it loads no hook" : "";
}

}  // namespace

HookReach::HookReach(std::string root, const ProcessTree& tree)
    : root_(std::move(root)), tree_(tree) {}

Nanos HookReach::period() const { return std::chrono::milliseconds(250); }

std::string HookReach::whyNot(std::uint32_t pid) const {
  const std::string theirs = contentOf(processPath(root_, pid, "status"), kStatusBytes);
  const std::string ours = contentOf(under(root_, "/proc/self/status"), kStatusBytes);
  if (theirs.empty() || ours.empty()) return {};
  const std::string space = readLink(processPath(root_, pid, "ns/user"));
  if (!space.empty() && space != readLink(under(root_, "/proc/self/ns/user")))
    return "is in a user namespace of its own";
  const std::uint64_t effective = capabilities(theirs, "CapEff:");
  if ((effective & (std::uint64_t{1} << CAP_SYS_PTRACE)) == 0) {
    if (!same(theirs, ours, "Uid:")) return "runs as user " + std::string(idsOf(theirs, "Uid:")[3]);
    if (!same(theirs, ours, "Gid:"))
      return "runs as group " + std::string(idsOf(theirs, "Gid:")[3]);
    if ((capabilities(ours, "CapPrm:") & ~effective) != 0)
      return "has fewer capabilities than the recorder";
  }
  const std::string root = processPath(root_, pid, "root"), there = root + events_;
  if (readLink(root).empty()) return {};
  return readLink(there) == readLink(under(root_, events_)) ? std::string()
                                                            : "has a /proc of its own, or none";
}

std::string HookReach::whyNotLoaded(const LiveProcess& process) const {
  if (isNamed(process, "pypy")) return "is PyPy: the hook is made for CPython";
  if (std::string why = whyOtherPython(process.exe); !why.empty()) return why;
  const auto words =
      parseCommandLine(contentOf(processPath(root_, process.pid, "cmdline"), kWordsBytes));
  if (const char option = isolatingOption(words); option != 0)
    return std::string("was started with -") + option + ": it loads no hook";
  const std::string environment =
      contentOf(processPath(root_, process.pid, "environ"), kEnvironmentBytes);
  if (!isWhole(environment)) return {};
  if (environment.find("=" + events_) == std::string::npos)
    return "was started without the environment of the run, as by sudo: it loads no hook";
  if (directory_.empty()) return {};
  if (environment.find(directory_) == std::string::npos)
    return "was started with another PYTHONPATH than the run's, or none: it loads no hook (a "
           "script keeps it by PYTHONPATH=...:$PYTHONPATH)";
  const std::string root = processPath(root_, process.pid, "root"), from = readLink(root);
  const bool ours = from == "/" && readLink(processPath(root_, process.pid, "ns/mnt")) ==
                                       readLink(under(root_, "proc/self/ns/mnt"));
  if (from.empty() || ours ||
      ::access((root + directory_ + "/sitecustomize.py").c_str(), F_OK) == 0 || errno != ENOENT)
    return {};
  if (readLink(root) != from) return {};  // it ended meanwhile
  return "has another root, as in a container, in which stallprof is not: it loads no hook";
}

void HookReach::sample(Nanos now, EventOut& out) {
  constexpr std::size_t kMax = 4;
  if (events_.empty() || reasons_.size() == kMax) return;
  for (const LiveProcess& process : tree_.processes()) {
    if (!isNamed(process, "python") && !isNamed(process, "pypy")) continue;
    const std::string program = process.comm + '\n' + process.exe;
    if (std::exchange(asked_[process.id.value], program) == program) continue;
    std::string why = whyNot(process.pid);
    if (!why.empty()) why += ": the hook cannot hand over what it sees there";
    if (why.empty()) why = whyNotLoaded(process);
    if (why.empty() || std::find(reasons_.begin(), reasons_.end(), why) != reasons_.end()) continue;
    said_ += (said_.empty() ? "process " : "; process ") + std::to_string(process.pid) + " (" +
             process.comm + ") " + why;
    reasons_.push_back(std::move(why));
    return emitSource(out, now, "hook", Coverage::kPartial, said_);
  }
  forgetEnded();
}

// Seldom: a job may start a process for each of millions of files.
void HookReach::forgetEnded() {
  constexpr std::size_t kFew = 64;
  const auto& alive = tree_.processes();
  if (asked_.size() <= 2 * alive.size() + kFew) return;
  std::unordered_set<std::uint32_t> kept;
  for (const LiveProcess& process : alive) kept.insert(process.id.value);
  std::erase_if(asked_, [&](const auto& entry) { return !kept.contains(entry.first); });
}

}  // namespace stallprof
