// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "base/time.h"
#include "recording/activity/activity_area.h"
#include "recording/memory/activity_memory.h"

namespace stallprof {

// A file of what was drained from the activity memory (FORMAT.md, "Kept activity"): what the agent
// and CUPTI wrote, byte for byte, without what was empty. Written on STALLPROF_KEEP_ACTIVITY=FILE,
// to examine a run and to run it again through newer code.
namespace kept {
inline constexpr std::array<char, 8> kMagic = {'S', 'P', 'K', 'E', 'P', 'T', '0', '1'};
enum class Step : std::uint32_t { kControl = 1, kNames, kFull, kTorn, kSettle, kEnd };
struct Header {
  Step step = Step::kSettle;
  std::uint32_t area = 0;
  std::int64_t now = 0;  // of the recorder, CLOCK_MONOTONIC
  std::uint64_t length = 0;
};
}  // namespace kept

class ActivityKeep {
 public:
  [[nodiscard]] static Result<std::unique_ptr<ActivityKeep>> create(const std::string& file);
  // A write error ends the keeping: the run goes on.
  void step(kept::Step step, std::uint32_t area, Nanos now, std::span<const std::uint8_t> bytes);

 private:
  explicit ActivityKeep(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

// One step after the other; nullopt at the file's end, or where it is cut.
class KeptActivity {
 public:
  [[nodiscard]] static Result<std::unique_ptr<KeptActivity>> open(const std::string& file);
  struct Item {
    kept::Header header;
    std::vector<std::uint8_t> bytes;
  };
  [[nodiscard]] bool next(Item& item);

 private:
  explicit KeptActivity(Fd fd) : fd_(std::move(fd)) {}
  [[nodiscard]] bool read(void* to, std::size_t size);
  Fd fd_;
};

}  // namespace stallprof
