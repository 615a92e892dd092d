// SPDX-License-Identifier: MIT
#include "trace/native_symbols.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "machine_code/code_places.h"

namespace stallprof {
namespace {

// An hour of a training meets some 10,000 places in 100 files; a forged recording may name more.
constexpr std::size_t kMaxFiles = 2048, kMaxPlaces = 1u << 20;
// All names of a trace together; a file that is mapped may have been made to hold only long ones.
constexpr std::size_t kMaxText = 256u << 20;

using FileKey = std::pair<StringId, StringId>;  // path, build id
struct Named {
  StringId function;
  bool draws = false, call = false, recorded = false;
  LoopCode loop{};
};
using Places = std::map<std::uint64_t, Named>;  // by offset

class Namer {
 public:
  Namer(Trace& trace, const std::string& debugRoot)
      : trace_(trace),
        // A recording without a begin is of a damaged manifest: nothing is as old.
        files_(trace.manifest.startedRealtime, !interpreted(), debugRoot) {}

  SymbolSummary run() {
    gather();
    takeRecorded();
    for (auto& [key, places] : places_) nameFile(key, places);
    for (ThreadLife& thread : trace_.threads)
      for (auto& row : thread.natives) give(row.data);
    emit();
    return summary_;
  }

 private:
  void gather() {
    for (const ThreadLife& thread : trace_.threads)
      for (const auto& row : thread.natives) {
        const NativeSlice& s = row.data;
        if (s.function.none()) gather({s.file, s.build}, s.offset, false);
        if (s.callerFunction.none()) gather({s.callerFile, s.callerBuild}, s.callerOffset, true);
      }
  }
  void gather(const FileKey& key, std::uint64_t offset, bool call) {
    if (offset == 0 || count_ >= kMaxPlaces) return;
    if (places_.size() >= kMaxFiles && !places_.contains(key)) return;
    const auto [place, fresh] = places_[key].emplace(offset, Named{});
    count_ += fresh;
    place->second.call = call;
  }

  // Where an interpreter ran its stacks say what native code is for.
  [[nodiscard]] bool interpreted() const {
    return std::any_of(trace_.threads.begin(), trace_.threads.end(),
                       [](const ThreadLife& thread) { return !thread.stacks.empty(); });
  }

  // What the recorder read, where the job ran, needs no file.
  void takeRecorded() {
    const bool loops = !interpreted();
    for (const auto& [at, place] : trace_.places)
      if (Named* named = find({place.file, place.build}, place.offset))
        *named = {place.function, place.draws, named->call, true,
                  loops ? place.loop : LoopCode::kUnknown};
  }

  void nameFile(const FileKey& key, Places& places) {
    std::vector<CodePlace> unknown;
    for (const auto& [offset, named] : places)
      if (!named.recorded) unknown.push_back({offset, named.call});
    const std::string path(trace_.text(key.first)), build(trace_.text(key.second));
    count(unknown.empty() ? CodePlaces::File::kRead : files_.read(path, build, unknown));
    for (CodePlace& place : unknown) {
      Named& named = places.at(place.offset);
      if (trace_.strings.bytes() < kMaxText) named.function = trace_.strings.intern(place.function);
      named.draws = place.draws;
      named.loop = place.loop;
    }
  }

  void count(CodePlaces::File file) {
    summary_.files += file != CodePlaces::File::kNone;
    summary_.read += file == CodePlaces::File::kRead;
    summary_.missing += file == CodePlaces::File::kMissing;
    summary_.changed += file == CodePlaces::File::kChanged;
  }

  void emit() {
    const std::size_t unread = summary_.missing + summary_.changed;
    if (unread == 0) return;
    std::string why = std::to_string(unread) + " of " + std::to_string(summary_.files) +
                      " files that were sampled are not on this host as they ran: functions of "
                      "theirs have no names";
    const SourceState state{trace_.strings.intern("native_symbols"),
                            summary_.read > 0 ? Coverage::kPartial : Coverage::kAbsent,
                            trace_.strings.intern(why)};
    trace_.sources.push_back({trace_.end, state});
  }

  void give(NativeSlice& slice) {
    if (slice.function.none())
      if (const Named* named = find({slice.file, slice.build}, slice.offset)) {
        slice.function = named->function;
        slice.draws = named->draws;
        slice.loop = named->loop;
      }
    if (slice.callerFunction.none())
      if (const Named* named = find({slice.callerFile, slice.callerBuild}, slice.callerOffset)) {
        slice.callerFunction = named->function;
        slice.callerLoop = named->loop;
      }
  }

  [[nodiscard]] Named* find(const FileKey& key, std::uint64_t offset) {
    const auto file = places_.find(key);
    if (file == places_.end()) return nullptr;
    const auto place = file->second.find(offset);
    return place == file->second.end() ? nullptr : &place->second;
  }

  Trace& trace_;
  CodePlaces files_;
  std::map<FileKey, Places> places_;
  std::size_t count_ = 0;
  SymbolSummary summary_;
};

}  // namespace

SymbolSummary nameNativeSymbols(Trace& trace, const std::string& debugRoot) {
  return Namer(trace, debugRoot).run();
}

}  // namespace stallprof
