// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "sampler/perf/jit/jit_file.h"
#include "sampler/perf/jit/jit_functions.h"
#include "sampler/perf_rings/perf_records.h"

namespace stallprof {

// Names of code that processes of the job make at run time, from what their JIT compilers write for
// profilers: /tmp/perf-PID.map (CPython -X perf, V8, JVMs) and jit-PID.dump (oneDNN, LLVM, Julia),
// which is known by its mapping. Read while the process runs and its samples come, so that a
// recording needs neither file, and code is named by what was at its address then. A forked child
// has its parent's code, until its own files say otherwise.
//
// The files are the job's: in the process's own file system and pid namespace, and only regular
// files of its user are read, opened without waiting and never through a symbolic link out of its
// root. Bounded: what does not fit has no name.
class JitNames {
 public:
  static constexpr std::size_t kMaxProcesses = 128, kMaxDumps = 4;
  static constexpr std::size_t kMaxFunctions =
      65536;  // of all processes, asked before each 64 KiB: 10 MB

  // `root` is "/" or a fixture.
  explicit JitNames(std::string root) : root_(std::move(root)) {}

  // kMap of a jitdump, kFork, kExec and kExit; others change nothing.
  void take(const PerfRecord& record);
  // The text of /proc/PID/maps: the jitdumps of a process that is older than the records.
  void takeMaps(std::uint32_t pid, std::string_view maps);
  // The function at an address of code made at run time; begin 0: not known. Reads on in the files
  // where it is not, at most every 100 ms, less often while there are none.
  [[nodiscard]] JitFunctions::Function find(std::uint32_t pid, std::uint64_t address, Nanos now);

 private:
  struct Process {
    std::shared_ptr<JitFunctions> functions;  // shared with forked relatives until one makes more
    std::vector<JitFile> files;
    std::vector<std::string> dumps;  // paths of its jitdumps
    std::size_t opened = 0;          // how many of them were, or cannot be
    Fd directory;                    // its root
    std::uint32_t innerPid = 0;      // its number in its own pid namespace
    std::int64_t user = -1;          // its effective user; -1: not known
    bool asked = false;
    bool hasMap = false;
    Nanos next{}, every{};
  };
  void addDump(std::uint32_t pid, std::string_view path);
  void fork(std::uint32_t parent, std::uint32_t child);
  void readOn(std::uint32_t pid, Process& process, Nanos now);
  void ask(std::uint32_t pid, Process& process) const;
  [[nodiscard]] Fd open(const Process& process, std::string_view path) const;
  [[nodiscard]] std::size_t functionsBeside(const Process& process) const;

  std::string root_;
  std::unordered_map<std::uint32_t, Process> processes_;  // by pid
};

}  // namespace stallprof
