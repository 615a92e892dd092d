// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "event/event_out.h"

namespace stallprof {

// The places that samples fell into and that calls led from, as they were reported, to be named
// from their files when the run has ended: a recording is read on other machines, and after the
// files are gone. In memory 64 bytes a place.
class PlaceNames {
 public:
  static constexpr std::size_t kMaxPlaces = 65536;
  // The job has ended and its front waits for this.
  static constexpr Nanos kLongest = std::chrono::milliseconds(500);

  void add(const NativeSlice& slice);
  // A NativePlace each, of the files that are there as they ran; files are not begun after
  // kLongest. `started`: when the run began, in real time. `loops`: no interpreter ran.
  void emit(Nanos now, Nanos started, bool loops, EventOut& out) const;

 private:
  void add(StringId file, StringId build, std::uint64_t offset, bool call);

  using File = std::pair<StringId, StringId>;             // path, build id
  std::map<File, std::map<std::uint64_t, bool>> places_;  // by offset: is it a call's
  std::size_t count_ = 0;
};

}  // namespace stallprof
