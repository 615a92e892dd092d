// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string>

#include "event/event_out.h"
#include "launch/recorder/recorder.h"
#include "launch/setup/log.h"
#include "recording/writer.h"

namespace stallprof {

// Stands between everything in the recorder that emits events and the writer, and writes to the log
// what of them is about the recorder itself: the sources' states, gaps and losses. The recorder
// adds the start, the end, and once a second what it is at. One thread.
class RecorderLog final : public EventOut {
 public:
  // `writer` must outlive this. Opens the log in its directory.
  RecorderLog(Writer& writer, const RecorderPlan& plan);

  StringId intern(std::string_view text) override { return writer_.intern(text); }
  std::string_view textOf(StringId id) const override { return writer_.textOf(id); }
  void put(const Event& event) override;

  // Once a second: what the recorder costs, a change of the sampling rate, losses (one line a
  // minute at the most), a disk that takes nothing.
  void update(Nanos now, const RecorderUsage& usage);
  void write(LogLevel level, std::string_view text) { log_.write(level, text); }
  void end(const CommandEnd& end);

 private:
  void writeStart(const RecorderPlan& plan);
  void writeLosses();

  Writer& writer_;
  Log log_;
  std::array<std::uint64_t, kLossNames.size()> losses_{};
  Nanos nextLosses_{};
  std::uint32_t milliHz_ = 0;
  int error_ = 0;
};

}  // namespace stallprof
