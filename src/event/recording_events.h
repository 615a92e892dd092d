// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/time.h"
#include "event/kinds.h"
#include "event/vocabulary.h"

// Events about the recording itself. The rules of all events are in event.h.
namespace stallprof {

struct ClockPair {
  static constexpr std::uint8_t kKind = STALLPROF_KIND_CLOCK_PAIR;
  static constexpr const char* kName = "clock";
  Nanos realtime{}, boottime{};  // read together with `at`
  template <class S, class V>
  static void fields(S& s, V&& v) {
    v("realtime", s.realtime), v("boottime", s.boottime);
  }
};

// What a source could see from `at` on. `why` is for a person: what is missing, and what would
// help.
struct SourceState {
  static constexpr std::uint8_t kKind = STALLPROF_KIND_SOURCE_STATE;
  static constexpr const char* kName = "source";
  StringId source;
  Coverage state = Coverage::kAbsent;
  StringId why;
  template <class S, class V>
  static void fields(S& s, V&& v) {
    v("source", s.source), v("state", s.state), v("why", s.why);
  }
};

struct Loss {
  static constexpr std::uint8_t kKind = STALLPROF_KIND_LOSS;
  static constexpr const char* kName = "loss";
  LossKind kind = LossKind::kRingFull;
  std::uint64_t count = 0;  // events, ticks, bytes: whatever the kind counts; since the last report
  StringId detail;
  template <class S, class V>
  static void fields(S& s, V&& v) {
    v("kind", s.kind), v("count", s.count), v("detail", s.detail);
  }
};

// Nothing was recorded from `at` for `duration`: disk full, recorder stopped, host suspended.
struct Gap {
  static constexpr std::uint8_t kKind = STALLPROF_KIND_GAP;
  static constexpr const char* kName = "gap";
  Nanos duration{};
  StringId why;
  template <class S, class V>
  static void fields(S& s, V&& v) {
    v("duration", s.duration), v("why", s.why);
  }
};

// The command ended. A recording without this event is of a run that goes on or was cut off.
struct CommandEnd {
  static constexpr std::uint8_t kKind = STALLPROF_KIND_COMMAND_END;
  static constexpr const char* kName = "command_end";
  std::int32_t exitCode = -1, signal = -1;  // one of them is -1
  std::int64_t outlived = 0;                // processes of the job still alive then
  template <class S, class V>
  static void fields(S& s, V&& v) {
    v("exit_code", s.exitCode), v("signal", s.signal), v("outlived", s.outlived);
  }
};

// Once a second: what we cost.
struct RecorderUsage {
  static constexpr std::uint8_t kKind = STALLPROF_KIND_RECORDER_USAGE;
  static constexpr const char* kName = "recorder";
  Nanos cpu{};  // recorder and front together, cumulative
  std::int64_t residentBytes = 0, writtenBytes = 0;
  std::uint32_t milliHz = 0;  // samples per second of an active thread, in thousandths
  std::uint32_t pid = 0;
  std::int64_t peakBytes = -1;  // the largest the recorder's resident memory has been; -1: unknown
  template <class S, class V>
  static void fields(S& s, V&& v) {
    v("cpu", s.cpu), v("rss", s.residentBytes), v("written", s.writtenBytes),
        v("milli_hz", s.milliHz), v("pid", s.pid), v("peak_rss", s.peakBytes);
  }
};

struct SignalForwarded {
  static constexpr std::uint8_t kKind = STALLPROF_KIND_SIGNAL_FORWARDED;
  static constexpr const char* kName = "signal";
  std::int32_t signal = 0;
  bool forwarded = false;  // false: the job had it already (sent to its group)
  template <class S, class V>
  static void fields(S& s, V&& v) {
    v("signal", s.signal), v("forwarded", s.forwarded);
  }
};

}  // namespace stallprof
