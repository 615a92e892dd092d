// SPDX-License-Identifier: MIT
#include "sampler/perf/place_names.h"

#include <string>
#include <vector>

#include "machine_code/code_places.h"

namespace stallprof {

void PlaceNames::add(const NativeSlice& slice) {
  if (slice.function.none()) add(slice.file, slice.build, slice.offset, false);
  add(slice.callerFile, slice.callerBuild, slice.callerOffset, true);
}

void PlaceNames::add(StringId file, StringId build, std::uint64_t offset, bool call) {
  if (offset == 0 || count_ >= kMaxPlaces) return;
  count_ += places_[{file, build}].emplace(offset, call).second;
}

void PlaceNames::emit(Nanos at, Nanos started, bool loops, EventOut& out) const {
  CodePlaces files(started, loops);
  const Nanos begun = now();
  for (const auto& [file, offsets] : places_) {
    if (now() - begun > kLongest) return;
    std::vector<CodePlace> places;
    for (const auto& [offset, call] : offsets) places.push_back({offset, call});
    const std::string path(out.textOf(file.first)), build(out.textOf(file.second));
    if (files.read(path, build, places) != CodePlaces::File::kRead) continue;
    for (const CodePlace& place : places)
      out.emit(at, NativePlace{file.first, file.second, place.offset, out.intern(place.function),
                               place.draws, place.loop});
  }
}

}  // namespace stallprof
