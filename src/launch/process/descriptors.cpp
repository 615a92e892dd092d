// SPDX-License-Identifier: MIT
#include "launch/process/descriptors.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace stallprof {
namespace {

void closeRange(unsigned first, unsigned last) {
  if (first > last) return;
  if (::syscall(SYS_close_range, first, last, 0) == 0) return;
  for (const int fd : openDescriptors())  // before Linux 5.9
    if (static_cast<unsigned>(fd) >= first && static_cast<unsigned>(fd) <= last) ::close(fd);
}

}  // namespace

std::vector<int> openDescriptors() {
  std::vector<int> open;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc/self/fd", error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    int fd = -1;
    std::from_chars(name.data(), name.data() + name.size(), fd);
    if (fd >= 0) open.push_back(fd);
  }
  return open;
}

std::vector<int> lockedDescriptors() {
  using FileId = std::pair<dev_t, ino_t>;
  const auto fileOf = [](int fd) {
    struct stat info {};
    return ::fstat(fd, &info) == 0 ? FileId(info.st_dev, info.st_ino) : FileId();
  };
  std::vector<int> locked = openDescriptors();
  std::set<FileId> files;  // closing any descriptor of one ends its locks
  for (const int fd : locked)
    if (const auto info = readFile("/proc/self/fdinfo/" + std::to_string(fd));
        info.ok() && info.value().find(" POSIX ") != std::string::npos)
      files.insert(fileOf(fd));
  std::erase_if(locked, [&](int fd) { return files.count(fileOf(fd)) == 0; });
  return locked;
}

void closeDescriptors(int from, std::vector<int> kept) {
  std::sort(kept.begin(), kept.end());
  unsigned first = static_cast<unsigned>(from);
  for (const int fd : kept) {
    if (fd < from) continue;
    if (static_cast<unsigned>(fd) > first) closeRange(first, static_cast<unsigned>(fd) - 1);
    first = static_cast<unsigned>(fd) + 1;
  }
  closeRange(first, ~0u);
}

void silence(bool error) {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return;
  ::dup2(null, STDIN_FILENO);
  ::dup2(null, STDOUT_FILENO);
  if (error) ::dup2(null, STDERR_FILENO);
  if (null > STDERR_FILENO) ::close(null);
}

Fd keepOnly(Fd kept) {
  // Inherited::take left no descriptor of ours below 3.
  closeDescriptors(3, {kept.get()});
  silence(true);
  return kept;
}

}  // namespace stallprof
