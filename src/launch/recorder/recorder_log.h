// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "launch/recorder/recorder.h"
#include "launch/setup/log.h"
#include "recording/writer.h"

namespace stallprof {

// The recorder's log: what the writer noted of its events that is about the recorder itself (the
// states of sources, gaps and losses), the start, the end, and once a second what the recorder is
// at. One thread.
class RecorderLog {
 public:
  // `writer` must outlive this. Opens the log in its directory.
  RecorderLog(Writer& writer, const RecorderPlan& plan);

  // States of sources, and gaps, that were put since the last call.
  void writeNotes();
  // Once a second: what the recorder costs, a change of the sampling rate, losses (one line a
  // minute at the most), a disk that takes nothing.
  void update(Nanos now, const RecorderUsage& usage);
  void write(LogLevel level, std::string_view text) { log_.write(level, text); }
  void end(const CommandEnd& end);

 private:
  void writeStart(const RecorderPlan& plan);
  void writeNote(const Event& event);
  void writeLosses();

  Writer& writer_;
  Log log_;
  std::array<std::uint64_t, kLossNames.size()> losses_{};
  Nanos nextLosses_{};
  std::uint32_t milliHz_ = 0;
  int error_ = 0;
};

}  // namespace stallprof
