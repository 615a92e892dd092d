// SPDX-License-Identifier: MIT
#include "sampler/proc/file_log.h"

#include <sys/stat.h>
#include <sys/xattr.h>

#include <array>

#include "sampler/proc/proc_file.h"
#include "sampler/proc/proc_text.h"

namespace stallprof {
namespace {

constexpr std::size_t kSocketsKept = 4096;
constexpr std::size_t kFilesKept = 4096;
constexpr std::size_t kEpollTargets = 64;
constexpr std::size_t kMixedTargets = 16;  // of several kinds: a socket among them is one of these

std::string fdPath(const std::string& root, std::uint32_t pid, std::string_view folder,
                   std::uint64_t fd) {
  return processPath(root, pid, folder) + std::to_string(fd);
}

// A descriptor argument is an int; AT_FDCWD and rubbish from a foreign ABI are no descriptors.
bool plausible(std::uint64_t fd) { return fd < (1u << 24); }

}  // namespace

FdTarget FdClassifier::sample(std::uint32_t pid, std::uint64_t fd, Nanos now) {
  FdTarget target;
  if (!plausible(fd)) return target;
  const std::string link = readLink(fdPath(root_, pid, "fd/", fd));
  target.kind = kindOfLink(link);
  target.name = link;
  if (link.starts_with("socket:"))
    inspectSocket(target, pid, fd, link);
  else if (target.kind == FdKind::kFile)
    inspectFile(target, pid, fd, now);
  else if (target.kind == FdKind::kEpoll && !nested_)
    inspectEpoll(target, pid, fd, now);
  else if (target.kind == FdKind::kPipe)
    target.name = link.starts_with("pipe:") ? "pipe" : "eventfd";
  return target;
}

void FdClassifier::inspectFile(FdTarget& target, std::uint32_t pid, std::uint64_t fd, Nanos now) {
  const std::string info = contentOf(fdPath(root_, pid, "fdinfo/", fd), 4096);
  target.offset = valueOf(info, "pos:");
  const Mount* mount = mounts_.find(target.name, now);
  if (mount != nullptr && mount->remote()) return;
  struct stat status {};
  if (::stat(fdPath(root_, pid, "fd/", fd).c_str(), &status) != 0) return;
  if (S_ISFIFO(status.st_mode)) target.kind = FdKind::kPipe;
  if (S_ISCHR(status.st_mode)) target.kind = FdKind::kOther;
  if (S_ISREG(status.st_mode)) target.size = status.st_size;
}

// The socket file system gives a socket's protocol as an extended attribute ("TCP", "UNIX-STREAM");
// where that is refused, the inode is searched for in the job's own socket tables.
void FdClassifier::inspectSocket(FdTarget& target, std::uint32_t pid, std::uint64_t fd,
                                 std::string_view link) {
  target.name = "socket";
  if (const auto known = sockets_.find(std::string(link)); known != sockets_.end()) {
    target.kind = known->second;
    return;
  }
  char protocol[64] = {};
  const ssize_t n = ::getxattr(fdPath(root_, pid, "fd/", fd).c_str(), "system.sockprotoname",
                               protocol, sizeof protocol - 1);
  if (n > 0) {
    target.kind =
        std::string_view(protocol).starts_with("UNIX") ? FdKind::kUnixSocket : FdKind::kSocket;
  } else {
    const std::size_t open = link.find('[');
    const std::string_view inode =
        open == std::string_view::npos ? link : link.substr(open + 1, link.size() - open - 2);
    constexpr std::array<std::string_view, 4> kTables = {"net/tcp", "net/tcp6", "net/udp",
                                                         "net/udp6"};
    target.kind = FdKind::kUnixSocket;
    for (const std::string_view table : kTables)
      if (inTable(pid, table, inode)) target.kind = FdKind::kSocket;
  }
  if (sockets_.size() >= kSocketsKept) sockets_.clear();
  sockets_.emplace(link, target.kind);
}

bool FdClassifier::inTable(std::uint32_t pid, std::string_view table, std::string_view inode) {
  const std::string text = contentOf(processPath(root_, pid, table), 4u << 20);
  bool found = false;
  forEachLine(text, [&](std::string_view line) {
    const auto words = splitWords(line, 12);
    found = found || (words.size() >= 10 && words[9] == inode);  // column 10: inode
  });
  return found;
}

// fdinfo of an epoll descriptor has a line "tfd: N ..." for each descriptor it watches. They decide
// where all are of one kind. An event loop has a wake-up pipe of its own beside its sockets.
void FdClassifier::inspectEpoll(FdTarget& target, std::uint32_t pid, std::uint64_t fd, Nanos now) {
  target.name = "epoll";
  const std::string info = contentOf(fdPath(root_, pid, "fdinfo/", fd), 1u << 16);
  FdKind common = FdKind::kUnknown;
  bool mixed = false, sockets = false;
  std::size_t targets = 0;
  nested_ = true;
  forEachLine(info, [&](std::string_view line) {
    if (!line.starts_with("tfd:") || (mixed && (sockets || targets >= kMixedTargets)) ||
        ++targets > kEpollTargets)
      return;
    const auto watched = parseNumber(line.substr(4));
    if (!watched || *watched < 0) return;
    const FdKind kind = sample(pid, static_cast<std::uint64_t>(*watched), now).kind;
    sockets = sockets || kind == FdKind::kSocket;
    mixed = mixed || (common != FdKind::kUnknown && kind != common);
    common = kind;
  });
  nested_ = false;
  if (mixed && sockets) target.kind = FdKind::kEventLoop;
  if (!mixed && common != FdKind::kUnknown && targets <= kEpollTargets) target.kind = common;
}

bool FileLog::mayReport(Nanos now) {
  if (now - second_ >= std::chrono::seconds(1)) {
    second_ = now;
    reported_ = 0;
  }
  return reported_ < kPerSecond && ++reported_ > 0;
}

std::string FileLog::shortName(const std::string& path) const {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return path;
  const std::string directory = path.substr(0, slash);
  const auto files = directories_.find(directory);
  return files != directories_.end() && files->second > kNamed ? directory + "/*" : path;
}

std::string FileLog::oneOf(FirstNames& given, const std::string& name, Nanos now) {
  if (given.take(name)) return name;
  const Mount* mount = mounts_.find(name, now);
  return mount == nullptr || mount->point == "/" ? "/*" : mount->point + "/*";
}

void FileLog::note(ProcessId process, const FdTarget& file, const Entry& more, Nanos now,
                   EventOut& out) {
  if (files_.size() >= kFilesKept) files_.clear();
  const auto [found, fresh] = files_.try_emplace(file.name);
  if (const std::size_t slash = file.name.rfind('/'); fresh && slash != std::string::npos) {
    if (directories_.size() >= kFilesKept) directories_.clear();
    ++directories_[file.name.substr(0, slash)];
  }
  Entry& entry = found->second;
  entry.waits += more.waits;
  entry.onward += more.onward;
  entry.scattered += more.scattered;
  const bool due =
      entry.reported < Nanos::zero() || now - entry.reported >= std::chrono::seconds(1);
  if (due && mayReport(now)) {
    FileSeen seen;
    seen.process = process;
    seen.path = out.intern(oneOf(paths_, file.name, now));
    if (const Mount* mount = mounts_.find(file.name, now); mount != nullptr) {
      seen.mount = out.intern(mount->point);
      seen.fsType = out.intern(mount->fsType);
      seen.source = out.intern(mount->source);
    }
    seen.size = file.size;
    seen.offset = file.offset;
    seen.waits = entry.waits;
    seen.onward = entry.onward;
    seen.scattered = entry.scattered;
    out.emit(now, seen);
    entry = {.reported = now};
  }
}

StringId FileLog::waited(ProcessId process, const FdTarget& file, Nanos now, EventOut& out) {
  note(process, file, {.waits = 1}, now, out);
  return out.intern(oneOf(names_, shortName(file.name), now));
}

StringId FileLog::read(ProcessId process, const FdTarget& file, ReadPlace& last, Nanos now,
                       EventOut& out) {
  const ReadPlace place{std::hash<std::string>{}(file.name), file.offset, now};
  Entry more{.waits = 1};
  if (file.offset >= 0 && last.offset >= 0 && last.file == place.file &&
      now - last.at <= std::chrono::seconds(1))
    ++(place.offset >= last.offset ? more.onward : more.scattered);
  last = place;
  note(process, file, more, now, out);
  return out.intern(oneOf(names_, shortName(file.name), now));
}

void FileLog::held(ProcessId process, const FdTarget& file, Nanos now, EventOut& out) {
  note(process, file, {}, now, out);
}

}  // namespace stallprof
