// SPDX-License-Identifier: MIT
#include "machine_code/code_places.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "machine_code/code_patterns.h"
#include "machine_code/elf_symbols.h"

namespace stallprof {
namespace {

// Whose loops are judged: 10 us each, and LoopCodes::kMaxSteps together.
constexpr std::size_t kMaxLoops = 16384;

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

}  // namespace

CodePlaces::File CodePlaces::read(const std::string& path, const std::string& build,
                                  std::vector<CodePlace>& places) {
  if (!path.starts_with('/') || path.starts_with("//")) return File::kNone;
  struct stat status {};
  Fd file = openRegular(path, status);
  if (!file.valid()) return File::kMissing;
  const auto elf = ElfSymbols::open(std::move(file));
  const bool same =
      elf && (build.empty() ? unchangedSince(status, started_) : elf->buildId() == build);
  if (!same) return File::kChanged;
  std::vector<std::uint64_t> offsets;
  for (const CodePlace& place : places) offsets.push_back(place.offset);
  const auto debug = debugFileOf(elf->buildId(), debugRoot_);
  std::vector<std::string> functions = elf->functionsAt(offsets, debug ? &*debug : nullptr);
  for (std::size_t i = 0; i < places.size(); ++i) {
    places[i].function = std::move(functions[i]);
    const std::uint64_t from = places[i].offset - std::min(places[i].offset, kDrawsNear);
    places[i].draws = drawsRandomNumbers(elf->content(from, 2 * kDrawsNear));
  }
  if (judgesLoops_) judgeLoops(*elf, places);
  return File::kRead;
}

void CodePlaces::judgeLoops(const ElfSymbols& elf, std::vector<CodePlace>& places) {
  if (elf.machine() != EM_X86_64) return;
  std::string code;
  std::uint64_t end = 0;
  std::optional<LoopCodes> loops;
  for (CodePlace& place : places) {
    if (loops_++ >= kMaxLoops) return;
    if (!loops || place.offset + LoopCodes::kReach > end) {
      const std::uint64_t begin = place.offset - std::min(place.offset, LoopCodes::kReach);
      code = elf.content(begin, 4 * LoopCodes::kReach);
      end = begin + 4 * LoopCodes::kReach;
      if (loops) steps_ = loops->stepsLeft();
      loops.emplace(code, begin, steps_);
    }
    // A call's place lies within it; what follows it is an instruction's begin.
    place.loop = loops->at(place.call ? place.offset + 1 : place.offset);
  }
  if (loops) steps_ = loops->stepsLeft();
}

}  // namespace stallprof
