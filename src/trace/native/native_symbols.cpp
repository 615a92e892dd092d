// SPDX-License-Identifier: MIT
#include "trace/native/native_symbols.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "trace/native/elf_symbols.h"
#include "trace/native/loop_code.h"
#include "trace/native/random_code.h"

namespace stallprof {
namespace {

// An hour of a training meets some 10,000 places in 100 files; a forged recording may name more.
constexpr std::size_t kMaxFiles = 2048, kMaxPlaces = 1u << 20;
// All names of a trace together; a file that is mapped may have been made to hold only long ones.
constexpr std::size_t kMaxText = 256u << 20;
// Whose loops are judged: 10 us each, and LoopCodes::kMaxSteps together.
constexpr std::size_t kMaxLoops = 16384;

using FileKey = std::pair<StringId, StringId>;  // path, build id
struct Named {
  StringId function;
  bool draws = false, call = false;
  LoopCode loop{};
};
using Places = std::map<std::uint64_t, Named>;  // by offset

Fd openRegular(const std::string& path, struct stat& status) {
  // A file system without blocks is the kernel's own: what is read there may be taken away.
  struct statfs system {};
  if (path.empty() || path[0] != '/' || ::statfs(path.c_str(), &system) != 0 ||
      system.f_blocks == 0)
    return Fd();
  Fd file = openRegularAt(AT_FDCWD, path.c_str());
  if (file.valid() && ::fstat(file.get(), &status) != 0) return Fd();
  return file;
}

bool unchangedSince(const struct stat& status, Nanos realtime) {
  const Nanos changed = std::chrono::seconds(status.st_ctim.tv_sec) + Nanos(status.st_ctim.tv_nsec);
  return changed <= realtime;
}

std::optional<ElfSymbols> debugFileOf(const std::string& build, const std::string& debugRoot) {
  if (build.size() < 4 || build.find_first_not_of("0123456789abcdef") != std::string::npos)
    return std::nullopt;
  struct stat status {};
  const std::string path =
      debugRoot + "/.build-id/" + build.substr(0, 2) + "/" + build.substr(2) + ".debug";
  Fd file = openRegular(path, status);
  if (!file.valid()) return std::nullopt;
  auto elf = ElfSymbols::open(std::move(file));
  if (elf && elf->buildId() != build) return std::nullopt;
  return elf;
}

class Namer {
 public:
  Namer(Trace& trace, const std::string& debugRoot) : trace_(trace), debugRoot_(debugRoot) {}

  SymbolSummary run() {
    gather();
    for (auto& [key, places] : files_) nameFile(key, places);
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
    if (files_.size() >= kMaxFiles && !files_.contains(key)) return;
    const auto [place, fresh] = files_[key].emplace(offset, Named{});
    count_ += fresh;
    place->second.call = call;
  }

  // Where an interpreter ran its stacks say what native code is for.
  [[nodiscard]] bool interpreted() const {
    return std::any_of(trace_.threads.begin(), trace_.threads.end(),
                       [](const ThreadLife& thread) { return !thread.stacks.empty(); });
  }

  void judgeLoops(const ElfSymbols& elf, Places& places) {
    if (elf.machine() != EM_X86_64 || interpreted()) return;
    std::string code;
    std::uint64_t end = 0;
    std::optional<LoopCodes> loops;
    for (auto& [offset, named] : places) {
      if (loops_++ >= kMaxLoops) return;
      if (!loops || offset + LoopCodes::kReach > end) {
        const std::uint64_t begin = offset - std::min(offset, LoopCodes::kReach);
        code = elf.content(begin, 4 * LoopCodes::kReach);
        end = begin + 4 * LoopCodes::kReach;
        if (loops) steps_ = loops->stepsLeft();
        loops.emplace(code, begin, steps_);
      }
      // A call's place lies within it; what follows it is an instruction's begin.
      named.loop = loops->at(named.call ? offset + 1 : offset);
    }
    if (loops) steps_ = loops->stepsLeft();
  }

  void nameFile(const FileKey& key, Places& places) {
    const std::string path(trace_.text(key.first)), build(trace_.text(key.second));
    if (!path.starts_with('/') || path.starts_with("//")) return;  // "[vdso]", "//anon"
    ++summary_.files;
    struct stat status {};
    Fd file = openRegular(path, status);
    if (!file.valid()) return void(++summary_.missing);
    const auto elf = ElfSymbols::open(std::move(file));
    const bool same =
        elf && (build.empty() ? unchangedSince(status, started()) : elf->buildId() == build);
    if (!same) return void(++summary_.changed);
    ++summary_.read;
    std::vector<std::uint64_t> offsets;
    for (const auto& [offset, function] : places) offsets.push_back(offset);
    const auto debug = debugFileOf(elf->buildId(), debugRoot_);
    const auto functions = elf->functionsAt(offsets, debug ? &*debug : nullptr);
    std::size_t i = 0;
    for (auto& [offset, named] : places) {
      const std::string& name = functions[i++];
      if (trace_.strings.bytes() < kMaxText) named.function = trace_.strings.intern(name);
      const std::uint64_t from = offset - std::min(offset, kDrawsNear);
      named.draws = drawsRandomNumbers(elf->content(from, 2 * kDrawsNear));
    }
    judgeLoops(*elf, places);
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

  // A recording without a begin is of a damaged manifest: nothing is as old.
  [[nodiscard]] Nanos started() const { return trace_.manifest.startedRealtime; }

  void give(NativeSlice& slice) const {
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

  [[nodiscard]] const Named* find(const FileKey& key, std::uint64_t offset) const {
    const auto file = files_.find(key);
    if (file == files_.end()) return nullptr;
    const auto place = file->second.find(offset);
    return place == file->second.end() ? nullptr : &place->second;
  }

  Trace& trace_;
  const std::string& debugRoot_;
  std::map<FileKey, Places> files_;
  std::size_t count_ = 0, loops_ = 0;
  std::uint64_t steps_ = LoopCodes::kMaxSteps;
  SymbolSummary summary_;
};

}  // namespace

SymbolSummary nameNativeSymbols(Trace& trace, const std::string& debugRoot) {
  return Namer(trace, debugRoot).run();
}

}  // namespace stallprof
