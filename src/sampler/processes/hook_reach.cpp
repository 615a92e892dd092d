// SPDX-License-Identifier: MIT
#include "sampler/processes/hook_reach.h"

#include <linux/capability.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "sampler/proc/proc_file.h"
#include "sampler/proc/proc_text.h"

namespace stallprof {
namespace {

constexpr std::size_t kStatusBytes = 8192;

std::string linkOf(const std::string& path) {
  std::array<char, 256> target{};
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  return length <= 0 ? std::string() : std::string(target.data(), static_cast<std::size_t>(length));
}

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

bool isPython(const LiveProcess& process) {
  const std::size_t slash = process.exe.rfind('/');
  return process.comm.starts_with("python") ||
         (slash != std::string::npos && process.exe.compare(slash + 1, 6, "python") == 0);
}

}  // namespace

HookReach::HookReach(std::string root, const ProcessTree& tree)
    : root_(std::move(root)), tree_(tree) {}

Nanos HookReach::period() const { return std::chrono::milliseconds(250); }

std::string HookReach::whyNot(std::uint32_t pid) const {
  const std::string theirs = contentOf(processPath(root_, pid, "status"), kStatusBytes);
  const std::string ours = contentOf(under(root_, "/proc/self/status"), kStatusBytes);
  if (theirs.empty() || ours.empty()) return {};
  const std::string space = linkOf(processPath(root_, pid, "ns/user"));
  if (!space.empty() && space != linkOf(under(root_, "/proc/self/ns/user")))
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
  if (linkOf(root).empty()) return {};
  return linkOf(there) == linkOf(under(root_, events_)) ? std::string()
                                                        : "has a /proc of its own, or none";
}

void HookReach::sample(Nanos now, EventOut& out) {
  if (events_.empty() || said_) return;
  for (const LiveProcess& process : tree_.processes()) {
    if (!isPython(process)) continue;
    const std::string program = process.comm + '\n' + process.exe;
    if (std::exchange(asked_[process.id.value], program) == program) continue;
    const std::string why = whyNot(process.pid);
    if (why.empty()) continue;
    said_ = true;
    return emitSource(out, now, "hook", Coverage::kPartial,
                      "process " + std::to_string(process.pid) + " (" + process.comm + ") " + why +
                          ": the hook cannot hand over what it sees there");
  }
}

}  // namespace stallprof
