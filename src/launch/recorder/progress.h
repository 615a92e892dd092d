// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "event/event_out.h"
#include "launch/setup/overrides.h"
#include "sampler/pause_schedule.h"

namespace stallprof {

// Stands between the hook's memory and the writer, and counts what goes by: enough for one line now
// and then about a run whose stderr is a log. One thread.
class Progress : public EventOut {
 public:
  // `awaited`: names of settings that the hook is to change. `lines`: line() will be called.
  explicit Progress(EventOut& out, const std::vector<std::string>& awaited = {}, bool lines = true)
      : out_(out), lines_(lines), awaited_(awaited.begin(), awaited.end()) {}

  StringId intern(std::string_view text) override;
  std::string_view textOf(StringId id) const override { return out_.textOf(id); }
  void put(const Event& event) override;

  // Of the time since the last line: "412 batches, 3.14 a second, p50 318 ms, 34 % of the time
  // waiting for data"; of the thread that fetched most of them. Empty where none came.
  [[nodiscard]] std::string line(Nanos now);

  // Of the thread with most annotated steps, batches, or steps of an optimizer: the mean of its
  // last ones, burst or not; known after kPaceSteps. And all threads that made so many.
  [[nodiscard]] StepPace pace() const;
  // Of the thread with most batches or steps: how many, and when the first was; none: -1. Where
  // batches are given again (`--replay`) since that began. `fromUpdate`: since the first step of an
  // optimizer, itself counted where no loader is seen.
  struct Made {
    std::uint64_t steps = 0;
    Nanos first{-1};
  };
  [[nodiscard]] Made made(bool fromUpdate) const;
  // The hook reported that it changed each of the awaited settings.
  [[nodiscard]] bool changed() const { return awaited_.empty(); }
  // Events that came by.
  [[nodiscard]] std::uint64_t taken() const { return taken_; }

 private:
  static constexpr std::size_t kPaceSteps = 16;
  struct Seen {
    std::uint64_t total = 0, since = 0;  // ever; since the last line
    std::uint64_t before = 0;            // the first step of an optimizer
    std::uint64_t calls = 0;             // of several steps or one
    Nanos wait{}, first{-1}, last{-1};
    std::vector<Nanos> gaps;               // from one to the next; only for lines
    std::array<Nanos, kPaceSteps> ends{};  // when the last ones came
  };
  // What counts of these is the first that is seen, as in the report (analysis/steps/README.md).
  enum class Kind : std::uint8_t { kMark, kBatch, kRange, kOptimizer };
  // Null: the range is no step.
  [[nodiscard]] std::optional<Kind> stepKind(const Range& range) const;
  // `count` batches or steps in one: more than one in a call that is many steps.
  void note(Kind kind, ThreadId thread, Nanos at, Nanos wait, std::uint32_t count);
  [[nodiscard]] const Seen* busiest(bool fromUpdate) const;

  EventOut& out_;
  const bool lines_;
  std::map<std::pair<Kind, std::uint32_t>, Seen> seen_;
  std::vector<ThreadId> trainers_;  // each once
  std::uint64_t taken_ = 0;
  unsigned workers_ = 0;
  bool ranges_ = false;
  std::set<std::string, std::less<>> awaited_;  // not reported yet
  std::map<std::uint32_t, std::string> names_;  // of those, as they were interned
  Nanos from_{-1};                              // of the next line
  Nanos updated_{-1};                           // the first step of an optimizer
};

}  // namespace stallprof
