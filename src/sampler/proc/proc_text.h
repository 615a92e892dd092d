// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

// The text of procfs and sysfs files as values. Pure: text in, values out; nothing here opens a
// file. A file that is cut short, torn or of another kernel gives nullopt or -1, never a guess.
namespace stallprof {

// The decimal number at the start of `text` (leading blanks skipped); saturates at INT64_MAX: a
// limit such as 18446744073709551615 means "more than there is".
[[nodiscard]] std::optional<std::int64_t> parseNumber(std::string_view text);

// Words between blanks and line ends; at most `limit` of them.
[[nodiscard]] std::vector<std::string_view> splitWords(std::string_view text,
                                                       std::size_t limit = 256);
// Calls `line(text)` for each line without its end.
template <class F>
void forEachLine(std::string_view text, F line) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    line(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

// The words after `key` at the start of a line ("Uid:  0  0  0  0" with key "Uid:"); none when
// there is no such line.
[[nodiscard]] std::vector<std::string_view> wordsOf(std::string_view text, std::string_view key);

// The number after `key` at the start of a line ("MemTotal:   1234 kB" with key "MemTotal:"); -1
// when there is none.
[[nodiscard]] std::int64_t valueOf(std::string_view text, std::string_view key);

// /proc/PID/stat or /proc/PID/task/TID/stat. Fields follow the LAST ')': comm may hold anything.
struct ProcStat {
  std::uint32_t pid = 0, parent = 0;
  std::string comm;
  char state = '?';
  std::int64_t minorFaults = -1, majorFaults = -1;
  std::int64_t userTicks = -1, systemTicks = -1;                  // of the process
  std::int64_t childrenUserTicks = -1, childrenSystemTicks = -1;  // of children waited for
  std::int64_t threads = -1;
  std::uint64_t startTicks = 0;    // since boot
  std::int64_t virtualBytes = -1;  // 0: it has no memory any more, or never had any
  std::uint64_t stack = 0;         // bottom of the stack: another one after each exec; 0: hidden
  std::int64_t cpu = -1;           // the first thread ran on it last; -1: cut off
};
[[nodiscard]] std::optional<ProcStat> parseStat(std::string_view text);

// /proc/PID/task/TID/schedstat: time on a CPU, time runnable without one, times it got a CPU.
struct SchedStat {
  Nanos run{}, queued{};
  std::int64_t count = 0;
};
[[nodiscard]] std::optional<SchedStat> parseSchedStat(std::string_view text);

// /proc/PID/task/TID/syscall.
struct SyscallLine {
  enum class Kind { kRunning, kOutside, kCall };  // kOutside: blocked, but not in a system call
  Kind kind = Kind::kRunning;
  std::int64_t number = -1;
  std::array<std::uint64_t, 6> args{};
  std::uint64_t stack = 0;  // the stack pointer it called with; 0: not known
};
[[nodiscard]] std::optional<SyscallLine> parseSyscall(std::string_view text);

// /proc/PID/cmdline: words ended by NUL. A process may write anything there, so it is bounded.
// A report needs the start only: Linux allows 2 MiB and more.
[[nodiscard]] std::vector<std::string> parseCommandLine(std::string_view text,
                                                        std::size_t maxWords = 256);

// A line of /proc/PID/maps that maps anything.
struct MapsLine {
  std::uint64_t begin = 0, end = 0, offset = 0;  // end > begin
  bool writable = false, executable = false;
  std::string_view device, path;  // path: all behind the inode, of `line`; it may be empty
  std::uint64_t inode = 0;
};
[[nodiscard]] std::optional<MapsLine> parseMapsLine(std::string_view line);

// Takes off what /proc says behind the path of a file that has no name any more; whether it did.
bool takeDeleted(std::string_view& path);

// One line of /proc/pressure/*: "some avg10=.. total=N" (microseconds); -1 ns when absent.
[[nodiscard]] Nanos pressureTotal(std::string_view text, std::string_view kind);

// A line of /proc/stat: "cpu" (all of them) or "cpuN", and how long they did what. Steal is 0 where
// the kernel does not count it. Null: not such a line.
struct CpuTimes {
  Nanos busy{}, idle{}, ioWait{}, steal{};
};
[[nodiscard]] std::optional<CpuTimes> parseCpuTimes(std::string_view line);

// CLK_TCK of this host in nanoseconds a tick (100 Hz on every Linux of today, but asked once).
[[nodiscard]] Nanos tickLength();

}  // namespace stallprof
