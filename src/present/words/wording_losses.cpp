// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>

#include "base/units.h"
#include "present/words/wording.h"

namespace stallprof {
namespace {

std::uint64_t lost(const Analysis& a, std::string_view name) {
  for (const auto& [what, count] : a.coverage.losses)
    if (what == name) return count;
  return 0;
}

}  // namespace

std::string lossText(const std::string& name, std::uint64_t count) {
  struct Words {
    std::string_view name, one, rest;
  };
  constexpr Words kWords[] = {
      {"stacks_torn", "stack", " changed while read"},
      {"stacks_skipped", "stack", " left out"},
      {"stacks_full", "stack", " over the limit of a recording"},
      {"threads_skipped", "sample", " of threads left out"},
      {"tick_missed", "sample", " too late"},
      {"short_lived", "process", " too short-lived to record"},
      {"perf_lost", "native sample", " or task starts"},
      {"lives_full", "record", " of processes and threads past the first million"},
      {"ring_full", "event", " of the hook"},
      {"ring_slots", "process", " without a place in the hook's memory"},
      {"ring_damaged", "process", " with damaged events"},
      {"strings_full", "name", " over the limit of a recording"},
      {"disk_full", "event", " that a full disk had no room for"},
      {"write_error", "event", " that could not be written"},
      {"frame_torn", "byte", " after the last whole frame"},
      {"frame_damaged", "damaged byte", ""},
      {"segment_missing", "missing segment", ""},
      {"event_unknown", "event", " of a later version"},
      {"device_dropped", "device record", " dropped"},
      {"device_invalid", "device record", " with impossible times"},
      {"device_damaged", "damaged byte", " of device records"},
      {"device_slots", "process", " without a place in the device's memory"}};
  const auto number = static_cast<std::int64_t>(std::min<std::uint64_t>(count, INT64_MAX));
  for (const Words& words : kWords)
    if (words.name == name) return countOf(number, words.one) + std::string(words.rest);
  return name + " " + countText(number);
}

std::vector<std::string> incomplete(const Analysis& a) {
  std::vector<std::string> out;
  if (!a.run.ended)
    out.push_back(
        "The recording has no end: the run continues, or the recorder was killed. The report "
        "covers all recorded data.");
  std::string damage;
  for (const char* name : {"frame_torn", "frame_damaged", "segment_missing"})
    if (const std::uint64_t n = lost(a, name); n != 0)
      damage += (damage.empty() ? "" : ", ") + lossText(name, n);
  if (!damage.empty())
    out.push_back("Damaged recording (" + damage + "): the report covers the rest.");
  if (lost(a, "disk_full") + lost(a, "write_error") != 0)
    out.push_back("The recording has gaps: for some time, writes to its disk failed.");
  return out;
}

}  // namespace stallprof
