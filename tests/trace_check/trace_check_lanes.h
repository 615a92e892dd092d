// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/trace_check/trace_check.h"

namespace stallprof {

// What every timeline has to keep, whatever its dialect. Times are ns of any origin.
class LaneCheck {
 public:
  using Lane = std::pair<std::int64_t, std::int64_t>;  // process and thread
  explicit LaneCheck(TraceCheck& out) : out_(out) {}

  void problem(std::string text);
  void nameProcess(std::int64_t process) { processes_.insert(process); }
  void nameLane(Lane lane) { lanes_.insert(lane); }
  void slice(Lane lane, std::int64_t begin, std::int64_t duration);
  void begin(Lane lane, std::int64_t at) { open_[lane].push_back(at); }
  void end(Lane lane, std::int64_t at);
  void flow(std::string id, bool starts, std::int64_t at);
  void counter(std::int64_t process) { counted_.insert(process); }
  // `bytes` as a name: says so where a viewer could not show it.
  void text(std::string_view bytes);
  void finish();

 private:
  struct Slice {
    std::int64_t begin, end;
  };
  struct Flow {
    bool starts = false, ends = false;
    std::int64_t from = 0, to = 0;
  };
  void nest(Lane lane, std::vector<Slice>& slices);
  TraceCheck& out_;
  std::set<std::int64_t> processes_, counted_;
  std::set<Lane> lanes_;
  std::map<Lane, std::vector<Slice>> slices_;
  std::map<Lane, std::vector<std::int64_t>> open_;
  std::map<std::string, Flow> flows_;
};

void checkTraceJson(std::FILE* file, TraceCheck& out);
void checkTracePackets(std::FILE* file, TraceCheck& out);

}  // namespace stallprof
