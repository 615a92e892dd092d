// SPDX-License-Identifier: MIT
#include "sampler/proc/proc_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "sampler/proc/proc_text.h"

namespace stallprof {
namespace {

std::string wholeOf(const Fd& file, std::size_t limit) {
  std::string text;
  char chunk[8192];
  while (text.size() < limit) {
    const std::size_t part = std::min(sizeof chunk, limit - text.size());
    const std::size_t got = readAt(file.get(), chunk, part, text.size());
    text.append(chunk, got);
    if (got < part) break;
  }
  return text;
}

}  // namespace

std::size_t keptFdLimit(double share) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = 1024;
  // More than 2^16 descriptors would only cost kernel memory: 5,000 threads need 10,000.
  const auto soft = std::min<rlim_t>(limit.rlim_cur, 65536);
  return std::max<std::size_t>(8, static_cast<std::size_t>(static_cast<double>(soft) * share));
}

std::string_view KeptFile::read(const std::string& path, std::span<char> buffer, FdBudget& budget) {
  errno = 0;
  if (fd_.valid()) return preadSmall(fd_.get(), buffer);
  Fd fresh = openAt(AT_FDCWD, path.c_str(), O_RDONLY);
  if (!fresh.valid()) return {};
  errno = 0;
  const std::string_view text = preadSmall(fresh.get(), buffer);
  if (text.empty() || budget.full()) return text;
  budget.take();
  fd_ = std::move(fresh);
  return text;
}

void KeptFile::close(FdBudget& budget) {
  if (!fd_.valid()) return;
  fd_.reset();
  budget.give();
}

std::string KeptFiles::read(const std::string& path, std::size_t bytes) {
  errno = 0;
  const auto kept = files_.find(path);
  if (kept != files_.end()) {
    if (std::string text = wholeOf(kept->second, bytes); !text.empty()) return text;
    files_.erase(kept);
  }
  Fd fresh = openAt(AT_FDCWD, path.c_str(), O_RDONLY);
  if (!fresh.valid()) return {};
  errno = 0;
  std::string text = wholeOf(fresh, bytes);
  if (!text.empty() && files_.size() < limit_) files_.emplace(path, std::move(fresh));
  return text;
}

std::string under(const std::string& root, std::string_view path) {
  while (path.starts_with('/')) path.remove_prefix(1);
  std::string joined = root;
  if (!joined.ends_with('/')) joined += '/';
  return joined.append(path);
}

bool isBelow(std::string_view path, std::string_view directory) {
  if (directory == "/") return path.starts_with('/');
  return path.starts_with(directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

std::string processPath(const std::string& root, std::uint32_t pid, std::string_view file) {
  return under(root, "proc/" + std::to_string(pid) + "/").append(file);
}

Fd openMapped(const std::string& root, std::uint32_t pid, std::string_view path,
              std::uint64_t inode) {
  Fd opened = openRegularAt(AT_FDCWD, processPath(root, pid, "root").append(path).c_str());
  if (opened.valid()) return opened;
  const int error = errno;
  struct stat status {};
  opened = openRegularAt(AT_FDCWD, under(root, path).c_str());
  if (opened.valid() && ::fstat(opened.get(), &status) == 0 && status.st_ino == inode)
    return opened;
  errno = error;
  return {};
}

std::string threadPath(const std::string& root, std::uint32_t pid, std::uint32_t tid,
                       std::string_view file) {
  return processPath(root, pid, "task/" + std::to_string(tid) + "/").append(file);
}

bool lacksMeans(int error) { return error == EMFILE || error == ENFILE || error == ENOMEM; }

bool forEachNumber(const std::string& path, const std::function<void(std::uint32_t)>& use) {
  DIR* directory = ::opendir(path.c_str());
  if (directory == nullptr) return false;
  while (const dirent* entry = ::readdir(directory)) {
    const auto number = parseNumber(entry->d_name);
    if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9' && number && *number <= UINT32_MAX)
      use(static_cast<std::uint32_t>(*number));
  }
  ::closedir(directory);
  return true;
}

std::string readLink(const std::string& path) {
  char target[PATH_MAX];
  const ssize_t n = ::readlink(path.c_str(), target, sizeof target);
  return n > 0 ? std::string(target, static_cast<std::size_t>(n)) : std::string();
}

std::string contentOf(const std::string& path, std::size_t limit) {
  const Fd file = openAt(AT_FDCWD, path.c_str(), O_RDONLY);
  return file.valid() ? wholeOf(file, limit) : std::string();
}

void emitSource(EventOut& out, Nanos now, std::string_view name, Coverage state,
                std::string_view why) {
  out.emit(now, SourceState{out.intern(name), state, out.intern(why)});
}

}  // namespace stallprof
