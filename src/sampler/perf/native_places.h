// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>

#include "event/event_out.h"
#include "sampler/perf/native_maps.h"

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

// Samples summed until they are reported: one NativeSlice for each thread, Python frame, place
// (or function where that is known already) and caller.
class NativePlaces {
 public:
  // How long they are summed: what a killed recorder loses at most.
  static constexpr Nanos kWindow{2'000'000'000};
  // Of one window. At 20 bytes each 21 MB an hour, when every sample of two busy CPUs and more is
  // of a place of its own. Past it as many again, and as much, are of the first place that was seen
  // in kCoarse bytes, without callers: hot functions are longer. Past those, places of a file are
  // not distinguished, which is reported as a loss.
  static constexpr std::size_t kMaxRows = 600;
  // Places within one: most functions begin at a multiple of it (gcc and clang from -O2 on).
  static constexpr std::uint64_t kNeighbours = 16, kCoarse = 1024;

  void add(ThreadId thread, StackId stack, const NativeMaps::Place& place, Nanos now,
           const NativeMaps::Place& caller = {});
  // Reports what there is when the window is over, or always with `all`.
  void flush(Nanos now, EventOut& out, bool all);
  // Of all that was reported.
  [[nodiscard]] const PlaceNames& names() const { return names_; }

 private:
  struct Key {
    std::uint32_t thread = 0, stack = 0, file = 0, build = 0, function = 0;
    std::uint32_t callerFile = 0, callerBuild = 0;
    std::uint64_t block = 0, caller = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const noexcept;
  };
  struct Row {
    std::uint64_t offset = 0;
    std::uint32_t samples = 0;
  };
  [[nodiscard]] bool hasRoom(std::size_t rows, const Key& key) const {
    return rows_.size() < rows || rows_.contains(key);
  }
  std::unordered_map<Key, Row, Hash> rows_;
  std::uint64_t withoutPlace_ = 0;  // samples of the window
  PlaceNames names_;
  Nanos begin_{};
};

}  // namespace stallprof
