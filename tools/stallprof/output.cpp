// SPDX-License-Identifier: MIT
#include "stallprof/output.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/fd.h"
#include "base/text.h"

namespace stallprof {
namespace {

Status failed(const std::string& file, int error) {
  return ioError("cannot write '" + escapeTerminal(file, 400) + "'", error);
}

using Produce = std::function<bool(const TakeBytes&)>;

bool produceTo(int fd, const Produce& produce) {
  return produce([fd](std::string_view bytes) { return writeAll(fd, bytes); });
}

Status writeBeside(const std::string& file, const Produce& produce) {
  // One that was killed left its file, and in a container the next has its pid.
  constexpr int kNames = 100;
  std::string beside;
  Fd fd;
  for (int i = 0; i < kNames && !fd.valid() && (i == 0 || errno == EEXIST); ++i) {
    beside = file + ".tmp." + std::to_string(getpid()) + (i == 0 ? "" : "." + std::to_string(i));
    fd = openAt(AT_FDCWD, beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
  }
  if (!fd.valid()) return failed(file, errno);
  struct stat before {};  // what is replaced may be for its owner's eyes alone
  if (stat(file.c_str(), &before) == 0) (void)fchmod(fd.get(), before.st_mode & 0777);
  // EINVAL: a file system (FUSE) that has no fsync.
  const bool written = produceTo(fd.get(), produce) && (fsync(fd.get()) == 0 || errno == EINVAL);
  const int error = errno;
  if (written && rename(beside.c_str(), file.c_str()) == 0) return Done{};
  const int reason = written ? errno : error;
  unlink(beside.c_str());
  return failed(file, reason);
}

// What is written to as it stands.
bool isDevice(const std::string& file) {
  struct stat target {};
  return stat(file.c_str(), &target) == 0 && (S_ISCHR(target.st_mode) || S_ISFIFO(target.st_mode));
}

bool isSet(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && value[0] != '\0';
}

}  // namespace

int fail(const std::string& message, int status) {
  std::fprintf(stderr, "stallprof: %s\n", message.c_str());
  return status;
}

int afterPrinting(int status) {
  errno = 0;
  const bool arrived = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (arrived || status != 0) return status;
  return fail(failed("standard output", errno == 0 ? EIO : errno).error().message, 1);
}

Status writeOutput(const std::string& file, std::string_view content) {
  return writeOutputBy(file, [content](const TakeBytes& take) { return take(content); });
}

Status writeOutputBy(const std::string& file, const Produce& produce) {
  // By its name standard output is a symbolic link to what it was redirected to.
  if (file.empty() || file == "-" || file == "/dev/stdout") {
    if (produceTo(STDOUT_FILENO, produce)) return Done{};
    return failed("standard output", errno);
  }
  if (isDevice(file)) {
    const Fd fd = openAt(AT_FDCWD, file.c_str(), O_WRONLY);
    if (fd.valid() && produceTo(fd.get(), produce)) return Done{};
    return failed(file, errno);
  }
  if (const Status fit = checkPlace(file); !fit.ok()) return fit;
  return writeBeside(file, produce);
}

Status checkPlace(const std::string& file) {
  struct stat there {};
  if (file.empty() || file == "-" || file == "/dev/stdout" || isDevice(file)) return Done{};
  if (lstat(file.c_str(), &there) == 0) {
    if (S_ISLNK(there.st_mode))
      return Error{Error::Kind::kIo, "cannot write '" + escapeTerminal(file, 400) +
                                         "': it is a symbolic link; name the file itself"};
    if (!S_ISREG(there.st_mode)) return failed(file, S_ISDIR(there.st_mode) ? EISDIR : EEXIST);
  }
  const std::string parent = std::filesystem::path(file).parent_path().string();
  if (access(parent.empty() ? "." : parent.c_str(), W_OK | X_OK) != 0) return failed(file, errno);
  return Done{};
}

Status wouldReplace(const std::string& file, const char* instead) {
  struct stat target {};
  if (file.empty() || file == "-" || lstat(file.c_str(), &target) != 0) return Done{};
  if (!S_ISREG(target.st_mode) || target.st_size == 0) return Done{};
  return Error{Error::Kind::kIo, "'" + escapeTerminal(file, 400) +
                                     "' exists; stallprof never overwrites: choose another name" +
                                     instead};
}

bool stdoutColour(const std::string& choice) {
  if (choice != "auto") return choice == "always";
  if (isSet("NO_COLOR")) return false;
  const char* force = std::getenv("CLICOLOR_FORCE");  // "0" is as good as unset, by its convention
  if (isSet("FORCE_COLOR") || (isSet("CLICOLOR_FORCE") && std::string_view(force) != "0"))
    return true;
  const char* terminal = std::getenv("TERM");
  return isatty(STDOUT_FILENO) == 1 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

int stdoutColumns() {
  constexpr int kNarrow = 80, kUsual = 100, kWide = 120;
  const char* columns = std::getenv("COLUMNS");
  if (const int n = columns == nullptr ? 0 : std::atoi(columns); n > 0)
    return std::clamp(n, kNarrow, kWide);
  winsize size{};
  if (isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return std::clamp<int>(size.ws_col, kNarrow, kWide);
  return kUsual;
}

}  // namespace stallprof
