// SPDX-License-Identifier: MIT
#include "sampler/perf/jit/jit_names.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "sampler/proc/proc_file.h"
#include "sampler/proc/proc_text.h"

namespace stallprof {
namespace {

constexpr Nanos kEvery = std::chrono::milliseconds(100);
// While a process has no such file: most have none.
constexpr Nanos kSeldom = std::chrono::seconds(5);

// ".../jit-PID.dump": a page of it is mapped for execution, so that profilers see its name.
bool isJitDump(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return path.starts_with('/') && name.starts_with("jit-") && name.ends_with(".dump");
}

// Below `directory` as if that were "/", also for links on the way (before Linux 5.6, or where a
// filter refuses: only the last part may not be a link).
Fd openBelow(int directory, const std::string& path) {
  constexpr int kFlags = O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC;
  open_how how{};
  how.flags = kFlags;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const auto fd = ::syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how);
  if (fd >= 0) return Fd(static_cast<int>(fd));
  if (errno != ENOSYS && errno != EPERM) return Fd();
  return openAt(directory, path.c_str() + path.find_first_not_of('/'), kFlags);
}

}  // namespace

void JitNames::take(const PerfRecord& record) {
  switch (record.kind) {
    case PerfRecord::Kind::kMap:
      if (isJitDump(record.path)) addDump(record.pid, record.path);
      return;
    case PerfRecord::Kind::kFork:
      if (record.pid != record.parentPid) fork(record.parentPid, record.pid);
      return;
    case PerfRecord::Kind::kExec:
      processes_.erase(record.pid);
      return;
    case PerfRecord::Kind::kExit:
      if (record.pid == record.tid) processes_.erase(record.pid);
      return;
    default:
      return;
  }
}

void JitNames::takeMaps(std::uint32_t pid, std::string_view maps) {
  forEachLine(maps, [&](std::string_view line) {
    const std::size_t path = line.find(" /");
    if (path != std::string_view::npos && isJitDump(line.substr(path + 1)))
      addDump(pid, line.substr(path + 1));
  });
}

void JitNames::addDump(std::uint32_t pid, std::string_view path) {
  if (path.size() >= 4096 || (!processes_.contains(pid) && processes_.size() >= kMaxProcesses))
    return;
  Process& process = processes_[pid];
  if (process.dumps.size() >= kMaxDumps ||
      std::find(process.dumps.begin(), process.dumps.end(), path) != process.dumps.end())
    return;
  process.dumps.emplace_back(path);
  process.next = process.every = {};
}

void JitNames::fork(std::uint32_t parent, std::uint32_t child) {
  processes_.erase(child);  // of that number's life before
  const auto found = processes_.find(parent);
  if (found == processes_.end() || !found->second.functions || processes_.size() >= kMaxProcesses)
    return;
  const std::shared_ptr<JitFunctions> shared = found->second.functions;
  processes_[child].functions = shared;
}

JitFunctions::Function JitNames::find(std::uint32_t pid, std::uint64_t address, Nanos now) {
  if (!processes_.contains(pid) && processes_.size() >= kMaxProcesses) return {};
  Process& process = processes_[pid];
  if (!process.functions) process.functions = std::make_shared<JitFunctions>();
  const JitFunctions::Function known = process.functions->find(address);
  if (known.begin != 0 || now < process.next) return known;
  readOn(pid, process, now);
  return process.functions->find(address);
}

void JitNames::readOn(std::uint32_t pid, Process& process, Nanos now) {
  if (!process.asked) ask(pid, process);
  if (!process.hasMap) {
    Fd map = open(process, "/tmp/perf-" + std::to_string(process.innerPid) + ".map");
    process.hasMap = map.valid();
    if (process.hasMap) process.files.emplace_back(std::move(map), JitFile::Format::kPerfMap);
  }
  for (; process.opened < process.dumps.size(); ++process.opened)
    if (Fd dump = open(process, process.dumps[process.opened]); dump.valid())
      process.files.emplace_back(std::move(dump), JitFile::Format::kJitDump);
  process.every = process.files.empty() ? std::clamp(2 * process.every, kEvery, kSeldom) : kEvery;
  process.next = now + process.every;
  if (process.files.empty()) return;
  if (process.functions.use_count() > 1)
    process.functions = std::make_shared<JitFunctions>(*process.functions);
  const std::size_t others = functionsBeside(process);
  const std::size_t room = kMaxFunctions - std::min(others, kMaxFunctions);
  for (JitFile& file : process.files) file.readOn(*process.functions, room);
}

std::size_t JitNames::functionsBeside(const Process& process) const {
  std::size_t count = 0;
  for (const auto& [pid, other] : processes_)
    if (&other != &process && other.functions)
      count += other.functions->size() / static_cast<std::size_t>(other.functions.use_count());
  return count;
}

void JitNames::ask(std::uint32_t pid, Process& process) const {
  process.asked = true;
  const std::string status = contentOf(processPath(root_, pid, "status"), 8192);
  const auto users = wordsOf(status, "Uid:"), pids = wordsOf(status, "NSpid:");
  if (users.size() > 1) process.user = parseNumber(users[1]).value_or(-1);
  process.innerPid =
      pids.empty() ? pid : static_cast<std::uint32_t>(parseNumber(pids.back()).value_or(pid));
  process.directory =
      openAt(AT_FDCWD, processPath(root_, pid, "root").c_str(), O_PATH | O_DIRECTORY);
}

Fd JitNames::open(const Process& process, std::string_view path) const {
  if (!process.directory.valid()) return Fd();
  Fd file = openBelow(process.directory.get(), std::string(path));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<std::int64_t>(status.st_uid) != process.user)
    return Fd();
  return file;
}

}  // namespace stallprof
