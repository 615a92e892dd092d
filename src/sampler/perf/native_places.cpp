// SPDX-License-Identifier: MIT
#include "sampler/perf/native_places.h"

#include <string>
#include <utility>
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

std::size_t NativePlaces::Hash::operator()(const Key& key) const noexcept {
  std::uint64_t hash = 0;
  for (const std::uint64_t part :
       {std::uint64_t{key.thread} << 32 | key.stack, std::uint64_t{key.file} << 32 | key.build,
        key.block, std::uint64_t{key.function}, key.caller,
        std::uint64_t{key.callerFile} << 32 | key.callerBuild}) {
    hash = (hash ^ part) * 0x9E3779B97F4A7C15ull;  // golden ratio, as Fibonacci hashing has it
    hash ^= hash >> 29;
  }
  return hash;
}

void NativePlaces::add(ThreadId thread, StackId stack, const NativeMaps::Place& place, Nanos now,
                       const NativeMaps::Place& caller) {
  if (rows_.empty()) begin_ = now;
  Key key{thread.value,         stack.value,       place.file.value,   place.build.value,
          place.function.value, caller.file.value, caller.build.value, place.offset / kNeighbours,
          caller.offset};
  std::uint64_t offset = place.offset;
  if (!hasRoom(kMaxRows, key)) {
    constexpr std::uint64_t kIsCoarse = std::uint64_t{1} << 63;  // no block of kNeighbours
    key.block = kIsCoarse | place.offset / kCoarse;
    key.caller = key.callerFile = key.callerBuild = 0;
  }
  // A few rows more: one for each file and frame at most.
  if (!hasRoom(2 * kMaxRows, key)) {
    key.block = offset = 0;
    ++withoutPlace_;
  }
  Row& row = rows_[key];
  if (row.samples++ == 0) row.offset = offset;
}

void NativePlaces::flush(Nanos now, EventOut& out, bool all) {
  if (rows_.empty() || (!all && now - begin_ < kWindow)) return;
  for (const auto& [key, row] : rows_) {
    const NativeSlice slice{ThreadId{key.thread},
                            now - begin_,
                            StackId{key.stack},
                            StringId{key.file},
                            StringId{key.build},
                            row.offset,
                            row.samples,
                            StringId{key.function},
                            StringId{key.callerFile},
                            StringId{key.callerBuild},
                            key.caller};
    names_.add(slice);
    out.emit(begin_, slice);
  }
  rows_.clear();
  if (const std::uint64_t lost = std::exchange(withoutPlace_, 0); lost > 0)
    out.emit(now, Loss{LossKind::kStacksFull, lost, out.intern("places of native samples")});
}

}  // namespace stallprof
