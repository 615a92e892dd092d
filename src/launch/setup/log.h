// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace stallprof {

enum class LogLevel : std::uint8_t { kTrace, kDebug, kInfo, kWarning, kError, kOff };
inline constexpr std::array<std::string_view, 6> kLogLevelNames = {"trace",   "debug", "info",
                                                                   "warning", "error", "off"};

inline constexpr char kLogFile[] = "log";  // in the recording's directory; log.1 is the older half

// The recorder's diagnostics for a person, in the recording's directory: two files of 500 KB at the
// most. Each line is in the kernel's hands when `write` returns, so a killed recorder leaves a log
// that can be read. A failure to write is ignored, and nothing ever goes to a standard stream. Only
// the recorder has one: neither the job nor the front waits for it. One thread.
class Log {
 public:
  Log();  // writes nothing until it is opened
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // `directory` exists. Nothing below `level` is written, and no file is made for kOff.
  void open(const std::string& directory, LogLevel level);
  [[nodiscard]] bool writes(LogLevel level) const;
  // One line; control characters in it are escaped.
  void write(LogLevel level, std::string_view text);

 private:
  struct Sink;
  std::unique_ptr<Sink> sink_;
};

}  // namespace stallprof
