// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sampler/perf/native_maps.h"
#include "sampler/python/runtime/elf_image.h"

namespace stallprof {

// The bytes before an address are an instruction that calls: what follows it is where a function
// returns to. kCallBytes of them, the address behind the last.
inline constexpr std::size_t kCallBytes = 8;
[[nodiscard]] bool endsInCall(std::span<const std::uint8_t, kCallBytes> code);

// Whom the code that a sample fell into works for. Of a library it is the first word of the
// thread's stack that is mapped code of another file and stands behind a call; of a template of the
// C++ standard library, which lies in the program's own file, the first in that file that is of no
// such template. Frame pointers and tables of frames are not needed, and the frames between are
// passed over; a word left over from a call that has returned may be taken for it, where that part
// of a frame was left unwritten. Templates are known by the linker's symbols, of a stripped program
// none; one that holds a lambda is no such template: its name says for whom it is.
class Callers {
 public:
  static constexpr std::size_t kMaxPlaces = 16384, kMaxProcesses = 4096, kMaxFiles = 16;

  explicit Callers(std::string root) : root_(std::move(root)) {}
  // kFork, kExec and kExit: a process runs another file, or none.
  void take(const PerfRecord& record);
  // None of those was seen for a while.
  void forget() { programs_.clear(); }
  // `user`: where the sample's thread is outside the kernel; of a sample in the kernel it may be
  // for this place itself. The place lies within the call. None: not found, or nobody's but its
  // own.
  [[nodiscard]] NativeMaps::Place callerOf(const PerfRecord& record, const NativeMaps::Place& user,
                                           const NativeMaps& maps, EventOut& out);

 private:
  using Templates = std::vector<python::ElfImage::Extent>;
  struct Program {
    StringId file;
    const Templates* templates = nullptr;
    [[nodiscard]] bool ofTemplate(std::uint64_t offset) const;
  };
  [[nodiscard]] bool isReturn(std::uint32_t pid, std::uint64_t address,
                              const NativeMaps::Place& place);
  [[nodiscard]] const Program& programOf(std::uint32_t pid, EventOut& out);

  std::string root_;
  using FileKey = std::tuple<dev_t, ino_t, time_t, long>;  // and when it was written
  [[nodiscard]] const Templates* templatesOf(const std::string& exe);

  std::unordered_map<std::uint32_t, Program> programs_;                  // by pid
  std::map<FileKey, Templates> templates_;                               // of files that have some
  std::set<FileKey> without_;                                            // that have none
  std::map<std::tuple<StringId, StringId, std::uint64_t>, bool> known_;  // by place
};

}  // namespace stallprof
