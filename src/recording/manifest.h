// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "base/time.h"

namespace stallprof {

// manifest.json of a recording: what was known before the command started. Written once, whole,
// before the first event; what is learnt later is an event. Secrets are masked before this is made.
struct Manifest {
  static constexpr std::string_view kImport = "import";  // in place of a command, before a file
  std::string toolVersion;
  std::vector<Untrusted> command;
  std::uint32_t wordsLeftOut = 0;  // of the command's end: a manifest fits one frame
  Untrusted directory;             // the command's working directory
  std::vector<std::pair<std::string, Untrusted>> environment;  // allowlisted names only
  Nanos startedRealtime{}, startedMonotonic{};
  std::uint32_t frontPid = 0, recorderPid = 0;
  double hz = 0;                     // asked for; what was had is an event
  double budget = 0;                 // --budget, in percent; 0: not known
  std::vector<Untrusted> maps;       // what ranges mean, in the words of --map
  std::vector<Untrusted> overrides;  // what was changed in the command, as options of `run`
  struct Host {
    std::string name, kernel, cpuModel, bootId;
    std::int32_t coresOnline = 0;
    double coresUsable = 0;  // affinity and cgroup quota, whichever is less
    std::int64_t memoryBytes = 0;
    std::int64_t pageBytes = 4096, ticksPerSecond = 100;
  } host;

  // Made by `stallprof import`: a trace of another profiler, without a command to run again.
  [[nodiscard]] bool imported() const;
  // A recorded variable of the environment; empty where there is none.
  [[nodiscard]] std::string_view variable(std::string_view name) const;
  // The same as a whole number, 0 or more; null where it is none.
  [[nodiscard]] std::optional<std::int64_t> numberIn(std::string_view name) const;
};

// At most format::kFrameLimit bytes: what of the command does not fit is left out at its end, and
// counted; where that does not do, the environment too.
[[nodiscard]] std::string manifestToJson(const Manifest& manifest);
[[nodiscard]] Result<Manifest> manifestFromJson(const std::string& json);

}  // namespace stallprof
