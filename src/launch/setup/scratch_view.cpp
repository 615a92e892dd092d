// SPDX-License-Identifier: MIT
#include "launch/setup/scratch_view.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string_view>

#include "base/fd.h"
#include "base/proc_numbers.h"
#include "base/text.h"
#include "launch/process/descriptors.h"
#include "sampler/proc/mounts.h"
#include "sampler/proc/proc_file.h"

namespace stallprof {
namespace {

namespace fs = std::filesystem;

constexpr char kOurs[] = "stallprof";  // source of our mounts
constexpr char kSharedMemory[] = "/dev/shm";
constexpr std::size_t kMaxSockets = 256;  // a mount each
// Kernel interfaces: no file of the user's is in them.
constexpr std::array<std::string_view, 20> kNoFiles = {
    "proc",      "sysfs",       "devtmpfs",   "devpts", "cgroup", "cgroup2",  "mqueue",
    "debugfs",   "tracefs",     "securityfs", "pstore", "bpf",    "configfs", "fusectl",
    "hugetlbfs", "binfmt_misc", "rpc_pipefs", "nsfs",   "autofs", "efivarfs"};
// Of the root directory: what a distribution owns, and the kernel's. Read-only, or as it is.
constexpr std::array<std::string_view, 14> kSystem = {
    "proc", "sys", "dev",   "run",   "boot",   "usr", "bin",
    "sbin", "lib", "lib32", "lib64", "libx32", "etc", "lost+found"};

bool holdsFiles(const Mount& mount) {
  return std::find(kNoFiles.begin(), kNoFiles.end(), mount.fsType) == kNoFiles.end();
}

// Below the kernel's own directories: control groups would be hidden by a copy. Shared memory is
// written to by any program.
bool ofSystem(std::string_view point) {
  return point != kSharedMemory && (isBelow(point, "/proc") || isBelow(point, "/sys") ||
                                    isBelow(point, "/dev") || isBelow(point, "/run"));
}

Error refused(const std::string& what, int error) {
  return {Error::Kind::kUnsupported, what + ": " + errnoText(error)};
}

Status writeProc(const char* file, const std::string& text) {
  const Fd fd = openAt(AT_FDCWD, file, O_WRONLY);
  if (!fd.valid() || ::write(fd.get(), text.data(), text.size()) < 0) return refused(file, errno);
  return Done{};
}

// Its own mounts; where root may not, as the same user in a user namespace. Whether it is one.
Result<bool> separateMounts() {
  const auto user = std::to_string(::geteuid()), group = std::to_string(::getegid());
  const bool asRoot = ::unshare(CLONE_NEWNS) == 0;
  if (!asRoot) {
    if (errno != EPERM) return refused("a mount namespace", errno);
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return refused("a user namespace", errno);
    (void)writeProc("/proc/self/setgroups", "deny");
    if (auto mapped = writeProc("/proc/self/uid_map", user + " " + user + " 1"); !mapped.ok())
      return mapped.error();
    if (auto mapped = writeProc("/proc/self/gid_map", group + " " + group + " 1"); !mapped.ok())
      return mapped.error();
  }
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return refused("mounts of its own", errno);
  return !asRoot;
}

std::vector<Mount> mountsNow() {
  const auto text = readFile("/proc/self/mountinfo", 16u << 20);
  return text.ok() ? Mounts::parse(text.value()) : std::vector<Mount>();
}

// Where copies are to lie: mounts, and of the root directory's those that are not the system's.
// Parents come before what they hold.
//
// The working directory has a copy of its own where it is below a directory of the system, such as
// /usr/src/app, and in a user namespace: there one below a directory of another's could not be
// written to (the copy of that would have to be the other's, too). Elsewhere it has none, as files
// cannot be renamed from one copy to another.
std::vector<std::string> placesOfCopies(const std::vector<Mount>& mounts,
                                        const std::string& directory, bool userNamespace) {
  std::vector<std::string> places;
  std::error_code error;
  for (fs::directory_iterator entry("/", error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool ours = std::find(kSystem.begin(), kSystem.end(), name) == kSystem.end();
    if (ours && entry->is_directory(error) && !entry->is_symlink(error))
      places.push_back("/" + name);
  }
  for (const Mount& mount : mounts)
    if (mount.point != "/" && holdsFiles(mount) && !ofSystem(mount.point))
      places.push_back(mount.point);
  const bool copied = std::any_of(places.begin(), places.end(), [&](const std::string& place) {
    return isBelow(directory, place);
  });
  const bool kernels = isBelow(directory, "/proc") || isBelow(directory, "/sys");
  if (directory != "/" && !kernels && (userNamespace || !copied)) places.push_back(directory);
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  std::erase_if(places, [](const std::string& place) {
    struct stat info {};
    return ::lstat(place.c_str(), &info) != 0 || !S_ISDIR(info.st_mode);
  });
  return places;
}

// 0, or the errno.
int makeReadOnly(const std::string& point) {
  struct statvfs info {};
  if (::statvfs(point.c_str(), &info) != 0) return EINVAL;  // hidden below another mount
  unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY;
  constexpr std::array<std::pair<unsigned long, unsigned long>, 6> kKept = {
      {{ST_NOSUID, MS_NOSUID},
       {ST_NODEV, MS_NODEV},
       {ST_NOEXEC, MS_NOEXEC},
       {ST_NOATIME, MS_NOATIME},
       {ST_NODIRATIME, MS_NODIRATIME},
       {ST_RELATIME, MS_RELATIME}}};
  for (const auto& [has, keep] : kKept)
    if ((info.f_flag & has) != 0) flags |= keep;
  return ::mount("none", point.c_str(), nullptr, flags, nullptr) == 0 ? 0 : errno;
}

std::string descriptorPath(const Fd& fd) { return "/proc/self/fd/" + std::to_string(fd.get()); }

struct Place {
  std::string path;
  Fd before;  // of what is there outside of the view
  bool mount = false;
};

class Copies {
 public:
  // `upper`: a directory in memory, for what is written.
  explicit Copies(std::string upper) : upper_(std::move(upper)) {}

  // 0, or the errno: then the place stays as it is.
  int add(const std::string& place, int lower) {
    const std::string own = upper_ + "/" + std::to_string(count_++);
    const std::string up = own + "/up", work = own + "/work";
    struct stat info {};
    if (::fstat(lower, &info) != 0 || ::mkdir(own.c_str(), 0755) != 0) return errno;
    // A loader that needs more shared memory than there is fails in the view, too.
    if (place == kSharedMemory)
      if (const int error = limit(own, lower); error != 0) return error;
    if (::mkdir(up.c_str(), info.st_mode & 07777) != 0 || ::mkdir(work.c_str(), 0700) != 0)
      return errno;
    (void)::chmod(up.c_str(), info.st_mode & 07777);
    (void)!::chown(up.c_str(), info.st_uid, info.st_gid);
    const std::string options =
        "lowerdir=/proc/self/fd/" + std::to_string(lower) + ",upperdir=" + up + ",workdir=" + work;
    // With the first a directory that was there can be renamed. Elsewhere it is accepted, by Linux
    // before 6.13, and nothing that was there can be removed: only the second serves.
    const char* const best = inFirstUserNamespace() ? ",redirect_dir=on" : ",userxattr";
    for (const char* more : {best, ""})
      if (::mount(kOurs, place.c_str(), "overlay", 0, (options + more).c_str()) == 0) return 0;
    return errno;
  }

 private:
  // Memory of its own, as much as is free in `lower`.
  static int limit(const std::string& own, int lower) {
    struct statvfs info {};
    if (::fstatvfs(lower, &info) != 0) return errno;
    if (info.f_blocks == 0) return 0;  // it has no limit
    const std::string size =
        "mode=0755,size=" +
        std::to_string(std::max<std::uint64_t>(1, info.f_bavail) * info.f_frsize);
    return ::mount(kOurs, own.c_str(), "tmpfs", 0, size.c_str()) == 0 ? 0 : errno;
  }

  std::string upper_;
  unsigned count_ = 0;
};

// Nobody answers at the copy of a socket: those that programs outside listen at are put over it.
// Where that fails, the trial sees one that refuses.
std::vector<Place> socketsIn(const std::vector<Place>& places) {
  std::vector<Place> sockets;
  const auto text = readFile("/proc/self/net/unix", 16u << 20);
  if (!text.ok()) return sockets;
  std::istringstream lines(text.value());
  std::set<std::string> seen;  // each connection to a server has a line
  for (std::string line; std::getline(lines, line) && sockets.size() < kMaxSockets;) {
    const std::string path = line.substr(std::min(line.size(), line.find(" /") + 1));
    struct stat info {};
    const bool copied = std::any_of(places.begin(), places.end(),
                                    [&](const Place& place) { return isBelow(path, place.path); });
    if (!copied || !seen.insert(path).second || ::lstat(path.c_str(), &info) != 0 ||
        !S_ISSOCK(info.st_mode))
      continue;
    Fd before = openAt(AT_FDCWD, path.c_str(), O_PATH | O_NOFOLLOW);
    if (before.valid()) sockets.push_back({path, std::move(before), false});
  }
  return sockets;
}

// Mounts that are no places of copies, as single files and huge pages: a copy of what they lie in
// would show what is below them.
std::vector<Place> mountsIn(const std::vector<Place>& places, const std::vector<Mount>& mounts) {
  std::vector<Place> hidden;
  for (const Mount& mount : mounts) {
    const auto holds = [&](const Place& place) {
      return mount.point != place.path && isBelow(mount.point, place.path);
    };
    const auto is = [&](const Place& place) { return mount.point == place.path; };
    if (ofSystem(mount.point) || std::none_of(places.begin(), places.end(), holds) ||
        std::any_of(places.begin(), places.end(), is))
      continue;
    Fd before = openAt(AT_FDCWD, mount.point.c_str(), O_PATH | O_NOFOLLOW);
    if (before.valid()) hidden.push_back({mount.point, std::move(before), true});
  }
  return hidden;
}

// What is there outside of the view, at the same place in it.
void putBack(const Place& place) {
  (void)::mount(descriptorPath(place.before).c_str(), place.path.c_str(), nullptr,
                MS_BIND | (place.mount ? MS_REC : 0), nullptr);
}

bool within(const std::string& path, const std::vector<std::string>& copied) {
  return std::any_of(copied.begin(), copied.end(),
                     [&](const std::string& place) { return isBelow(path, place); });
}

// Copies, in the order of `places`. What has none is seen as it was; what the working directory is
// nearest to must have one. (An ordinary user's of /home has none where anything is mounted there.)
Status makeCopies(const ScratchView& view, const std::vector<Place>& places,
                  const std::vector<Mount>& mounts) {
  std::vector<Place> others = socketsIn(places);
  for (Place& hidden : mountsIn(places, mounts)) others.push_back(std::move(hidden));
  // The memory is mounted where the trials' own directory is: it is put back there in the end.
  const Fd kept = openAt(AT_FDCWD, view.kept.c_str(), O_PATH | O_DIRECTORY);
  if (!kept.valid()) return refused(inQuotes(view.kept), errno);
  if (::mount(kOurs, view.kept.c_str(), "tmpfs", 0, "mode=0700") != 0)
    return refused("memory for what is written", errno);
  const Fd memory = openAt(AT_FDCWD, view.kept.c_str(), O_PATH | O_DIRECTORY);
  Copies copies(descriptorPath(memory));
  std::vector<std::string> copied;
  Status nearest = Done{};
  for (const Place& place : places) {
    const int error = copies.add(place.path, place.before.get());
    const bool needed = isBelow(view.directory, place.path);
    if (error == 0) {
      copied.push_back(place.path);
      if (needed) nearest = Done{};
      continue;
    }
    // The working directory's own, in the copy of a mount that it is in, is not needed.
    if (needed && (place.mount || !within(place.path, copied) || !nearest.ok()))
      nearest = refused("a copy-on-write view of " + inQuotes(place.path), error);
    if (place.mount && within(place.path, copied)) putBack(place);
  }
  if (!nearest.ok()) return nearest;
  for (const Place& other : others)
    if (within(other.path, copied)) putBack(other);
  if (::mount(descriptorPath(kept).c_str(), view.kept.c_str(), nullptr, MS_BIND, nullptr) != 0)
    return refused(inQuotes(view.kept), errno);
  return Done{};
}

// All that is no copy. Of mounts at one point the last is seen; one that a copy hides cannot be
// reached (EINVAL: no mount is there), and so not written to.
Status makeRestReadOnly(const ScratchView& view) {
  std::map<std::string, std::string> sourceAt;
  for (const Mount& mount : mountsNow())
    if (holdsFiles(mount)) sourceAt[mount.point] = mount.source;
  for (const auto& [point, source] : sourceAt) {
    if (source == kOurs || point == view.kept) continue;
    if (const int error = makeReadOnly(point); error != 0 && error != EINVAL)
      return refused("making " + inQuotes(point) + " read-only", error);
  }
  return Done{};
}

// Descriptors through which what this process becomes could write outside of the view, or open what
// is there, with their paths.
std::vector<std::pair<int, std::string>> openOutside() {
  std::vector<std::pair<int, std::string>> open;
  for (const int fd : openDescriptors()) {
    struct stat info {};
    const int flags = ::fcntl(fd, F_GETFL), kept = ::fcntl(fd, F_GETFD);
    if (fd <= STDERR_FILENO || flags < 0 || kept < 0 || (kept & FD_CLOEXEC) != 0 ||
        ::fstat(fd, &info) != 0)
      continue;
    const bool writes = S_ISREG(info.st_mode) && (flags & O_ACCMODE) != O_RDONLY;
    std::error_code error;
    const fs::path path = fs::read_symlink("/proc/self/fd/" + std::to_string(fd), error);
    if (writes || S_ISDIR(info.st_mode)) open.emplace_back(fd, path.string());
  }
  return open;
}

// The same in the view; what is not there, as a file that was removed, is closed.
void reopen(const std::vector<std::pair<int, std::string>>& open) {
  for (const auto& [fd, path] : open) {
    const int flags = ::fcntl(fd, F_GETFL) & (O_ACCMODE | O_APPEND | O_NONBLOCK | O_DIRECTORY);
    const off_t at = ::lseek(fd, 0, SEEK_CUR);
    const Fd inside = openAt(AT_FDCWD, path.c_str(), flags);
    if (!inside.valid() || ::dup2(inside.get(), fd) < 0) {
      ::close(fd);
      continue;
    }
    if (at > 0) (void)::lseek(fd, at, SEEK_SET);
  }
}

}  // namespace

Status enterScratchView(const ScratchView& view) {
  const auto open = openOutside();
  const auto own = separateMounts();
  if (!own.ok()) return own.error();
  const std::vector<Mount> mounts = mountsNow();
  std::vector<Place> places;
  for (const std::string& path : placesOfCopies(mounts, view.directory, own.value())) {
    Fd before = openAt(AT_FDCWD, path.c_str(), O_PATH | O_DIRECTORY);
    const bool mount = std::any_of(mounts.begin(), mounts.end(),
                                   [&](const Mount& each) { return each.point == path; });
    if (before.valid()) places.push_back({path, std::move(before), mount});
  }
  if (auto copied = makeCopies(view, places, mounts); !copied.ok()) return copied;
  if (auto rest = makeRestReadOnly(view); !rest.ok()) return rest;
  reopen(open);
  if (::chdir(view.directory.c_str()) != 0) return refused(inQuotes(view.directory), errno);
  return Done{};
}

}  // namespace stallprof
