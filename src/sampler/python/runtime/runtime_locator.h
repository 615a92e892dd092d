// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/fd.h"
#include "sampler/python/runtime/remote_memory.h"

namespace stallprof::python {

// A CPython runtime mapped in a process: one process may have two (a static interpreter and an
// extension's libpython), of which only one has threads.
struct Runtime {
  Address at = 0;         // _PyRuntime
  Address codeType = 0;   // PyCode_Type; 0: not exported
  Address versionAt = 0;  // Py_Version, from 3.11; 0: none
  unsigned minor = 0;     // as the file's name has it; 0: unknown
  std::string file;       // for a person
};

// One mapping of /proc/PID/maps that has a file.
struct Mapping {
  Address start = 0, end = 0, offset = 0;
  bool executable = false, writable = false, deleted = false;
  std::string device, path;
  std::uint64_t inode = 0;
};
// Pure; lines that cannot be are left out, at most 65,536 are kept.
[[nodiscard]] std::vector<Mapping> parseMaps(std::string_view text);

// The X of "libpython3.X.so.1.0" or "python3.X", 0 where a name has none.
[[nodiscard]] unsigned minorOfName(std::string_view fileName);

// Finds the runtimes of processes by symbol or section, whatever the program is called: renamed,
// stripped, static, embedded. Of files a container's own are read (openMapped), and what was found
// in one is kept for the next process that maps it.
class RuntimeLocator {
 public:
  explicit RuntimeLocator(std::string root) : root_(std::move(root)) {}
  // Empty: none is mapped, or maps cannot be read (`error` is the errno then, else 0). About 100 us
  // and, for a file not met before, some milliseconds.
  [[nodiscard]] std::vector<Runtime> find(std::uint32_t pid, RemoteMemory& memory, int& error);

 private:
  struct File {  // what one file holds, as it counts addresses
    std::optional<std::uint64_t> runtime;
    std::uint64_t codeType = 0, version = 0;
    unsigned minor = 0;
    std::uint64_t firstOffset = 0, firstAddress = 0;  // of a mapping, to find the bias
  };
  // Device, inode, and when that was last changed: the next file may get the inode of a deleted
  // one.
  using FileKey = std::tuple<std::string, std::uint64_t, std::int64_t, std::int64_t>;
  // Nothing where it cannot be opened just then, as of a process that ended.
  [[nodiscard]] const File* fileOf(std::uint32_t pid, const Mapping& mapping, bool likely);
  [[nodiscard]] Fd open(std::uint32_t pid, const Mapping& mapping) const;
  [[nodiscard]] static File examine(Fd opened, const Mapping& mapping, bool likely);
  [[nodiscard]] std::optional<Address> cookieIn(const std::vector<Mapping>& maps,
                                                const std::string& path,
                                                RemoteMemory& memory) const;

  std::string root_;
  std::map<FileKey, File> files_;
};

}  // namespace stallprof::python
