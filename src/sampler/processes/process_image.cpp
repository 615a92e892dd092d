// SPDX-License-Identifier: MIT
#include "sampler/processes/process_image.h"

#include <vector>

#include "base/secrets.h"
#include "base/text.h"
#include "base/time.h"
#include "sampler/proc/proc_file.h"

namespace stallprof {
namespace {

constexpr std::size_t kCommandBytes = 4096;

std::string commandText(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : maskSecrets(words)) {
    if (!text.empty()) text += ' ';
    text += quoteShell(word);
    if (text.size() > kCommandBytes) return text.substr(0, kCommandBytes) + "...";
  }
  return text;
}

}  // namespace

std::optional<ProcStat> statOf(const std::string& root, std::uint32_t pid) {
  auto stat = parseStat(contentOf(processPath(root, pid, "stat"), 4096));
  if (stat && stat->pid != pid) return std::nullopt;
  return stat;
}

std::optional<ProcStat> quickStatOf(const std::string& root, std::uint32_t pid) {
  auto stat = parseStat(contentOf(threadPath(root, pid, pid, "stat"), 4096));
  if (stat && stat->pid != pid) return std::nullopt;
  return stat;
}

Nanos startOf(std::uint64_t startTicks) {
  const Nanos sinceBoot = tickLength() * static_cast<Nanos::rep>(startTicks) + tickLength() / 2;
  const Nanos monotonic = now();
  return monotonic - (boottimeNow() - sinceBoot);
}

bool isLifeOf(const std::string& root, const LiveProcess& process, std::uint64_t startTicks) {
  if (process.startTicks != 0) return startTicks == process.startTicks;
  return !isLive(root) || startOf(startTicks) <= process.forkedAt + tickLength() / 2;
}

std::string programOf(const std::string& root, std::uint32_t pid) {
  return readLink(processPath(root, pid, "exe"));
}

std::string commandOf(const std::string& root, std::uint32_t pid) {
  return commandText(parseCommandLine(contentOf(processPath(root, pid, "cmdline"), 1u << 16)));
}

std::string threadNameOf(const std::string& root, std::uint32_t pid, std::uint32_t tid) {
  std::string name = contentOf(threadPath(root, pid, tid, "comm"), 64);
  if (name.ends_with('\n')) name.pop_back();
  return name;
}

}  // namespace stallprof
