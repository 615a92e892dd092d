// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/time.h"

namespace stallprof {

struct Mount {
  std::string point, fsType, source;  // "/data", "nfs4", "server:/export"
  std::string top;                    // what of the file system the mount point shows: "/"
  std::string options;                // of the file system; of cgroup v1 its controllers, too
  // A server or a program answers for it: a stat may hang, so it is never asked.
  [[nodiscard]] bool remote() const;
};

// The mounts of a process, from its /proc/PID/mountinfo; read again when the kernel says that they
// changed.
class Mounts {
 public:
  explicit Mounts(std::string mountinfo) : path_(std::move(mountinfo)) {}

  // Those of another process from now on, where they may be read.
  void follow(const std::string& mountinfo);
  // The mount that holds an absolute path: longest mount point, the latest of equals. Null when
  // nothing is known. Valid until the next call.
  [[nodiscard]] const Mount* find(std::string_view path, Nanos now);
  // /proc/PID/mountinfo as mounts; octal escapes (\040) undone.
  [[nodiscard]] static std::vector<Mount> parse(std::string_view text);

 private:
  void refresh(Nanos now);

  std::string path_;
  Fd fd_;
  Nanos checked_{-1};
  std::vector<Mount> mounts_;
};

}  // namespace stallprof
