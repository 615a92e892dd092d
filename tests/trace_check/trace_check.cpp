// SPDX-License-Identifier: MIT
#include "tests/trace_check/trace_check.h"

#include <algorithm>

#include "base/text.h"
#include "tests/trace_check/trace_check_lanes.h"

namespace stallprof {
namespace {

std::string named(const LaneCheck::Lane& lane) {
  return "process " + std::to_string(lane.first) + " lane " + std::to_string(lane.second);
}

std::string micros(std::int64_t ns) { return std::to_string(ns / 1000) + " us"; }

}  // namespace

void LaneCheck::problem(std::string text) {
  ++out_.wrong;
  if (out_.problems.size() < kMaxProblems) out_.problems.push_back(std::move(text));
}

void LaneCheck::slice(Lane lane, std::int64_t begin, std::int64_t duration) {
  if (duration < 0)
    return problem(named(lane) + ": a slice of negative duration at " + micros(begin));
  slices_[lane].push_back({begin, begin + duration});
}

void LaneCheck::end(Lane lane, std::int64_t at) {
  auto& open = open_[lane];
  if (open.empty()) return problem(named(lane) + ": an end without a begin at " + micros(at));
  if (at < open.back()) problem(named(lane) + ": an end before its begin at " + micros(at));
  slice(lane, open.back(), std::max<std::int64_t>(0, at - open.back()));
  open.pop_back();
}

void LaneCheck::flow(std::string id, bool starts, std::int64_t at) {
  Flow& flow = flows_[std::move(id)];
  if (starts) {
    flow.starts = true;
    flow.from = at;
  } else {
    flow.ends = true;
    flow.to = at;
  }
}

void LaneCheck::text(std::string_view bytes) {
  if (escapeTerminal(bytes, bytes.size() + 8) != bytes)
    problem("a name with control characters or invalid UTF-8: '" + escapeTerminal(bytes, 80) + "'");
}

void LaneCheck::nest(Lane lane, std::vector<Slice>& slices) {
  std::stable_sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  std::vector<std::int64_t> around;
  for (const Slice& slice : slices) {
    while (!around.empty() && around.back() <= slice.begin) around.pop_back();
    if (!around.empty() && slice.end > around.back())
      problem(named(lane) + ": slices overlap at " + micros(slice.begin) + ": one ends at " +
              micros(around.back()) + ", the one begun in it at " + micros(slice.end));
    else
      around.push_back(slice.end);
  }
}

void LaneCheck::finish() {
  for (const auto& [lane, open] : open_)
    if (!open.empty()) problem(named(lane) + ": a begin without an end at " + micros(open.back()));
  for (auto& [lane, slices] : slices_) {
    if (lanes_.count(lane) == 0) problem(named(lane) + ": has slices but no name");
    if (processes_.count(lane.first) == 0)
      problem("process " + std::to_string(lane.first) + ": has slices but no name");
    nest(lane, slices);
  }
  for (const std::int64_t process : counted_)
    if (processes_.count(process) == 0)
      problem("process " + std::to_string(process) + ": has counters but no name");
  for (const auto& [id, flow] : flows_)
    if (!flow.starts || !flow.ends)
      problem("arrow " + escapeTerminal(id, 40) +
              (flow.starts ? ": has no end" : ": has no start"));
    else if (flow.to < flow.from)
      problem("arrow " + escapeTerminal(id, 40) + ": ends before it starts");
}

TraceCheck checkTrace(std::FILE* file) {
  TraceCheck out;
  const int first = std::getc(file);
  if (first == EOF) {
    out.wrong = 1;
    out.problems = {"the file is empty"};
    return out;
  }
  std::ungetc(first, file);
  // Perfetto's Trace.packet is field 1, length-delimited: 0x0a, which as text is a blank line.
  if (first == 0x0a)
    checkTracePackets(file, out);
  else
    checkTraceJson(file, out);
  return out;
}

}  // namespace stallprof
