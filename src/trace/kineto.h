// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "base/result.h"
#include "event/event_out.h"
#include "event/strings.h"
#include "recording/manifest.h"

// A trace of PyTorch's profiler (Kineto's Trace Event JSON) as the events that a recording of the
// same run would have had, so that it gets the same report. What a trace has: fetches of the
// DataLoader, optimizer steps, annotations, calls into CUDA, every piece of device work. What it
// has not, the report says was not measured: worker processes, CPU time, memory, files.
namespace stallprof {

// One slice that a recording has an event for.
struct KinetoSlice {
  enum class Kind : std::uint8_t { kFetch, kOptimizer, kRange, kCall, kWork };
  Nanos at{}, duration{};
  Kind kind = Kind::kRange;
  StringId name;                  // in KinetoTrace::strings
  std::int64_t pid = 0, tid = 0;  // of the host; of work: the device's index, and the stream
  std::uint32_t correlation = 0, context = 0;
  std::int64_t bytes = -1, blocks = -1;
  std::int32_t blockThreads = -1;
  bool workers = false;  // a fetch from a loader that has some
  DeviceWorkKind work = DeviceWorkKind::kKernel;
};

struct KinetoDevice {
  std::int64_t index = 0, memoryBytes = -1, multiprocessors = -1, major = -1, minor = -1;
  StringId name;
};

struct KinetoTrace {
  std::vector<KinetoSlice> slices;  // by time
  std::vector<KinetoDevice> devices;
  Strings strings;
  Nanos base{};  // the wall clock at 0
  std::int64_t rank = -1, world = -1;

  [[nodiscard]] bool hasWorkers() const;  // of the loader; how many a trace does not say
};

// Reads `file` once. kDamaged where it is no such trace, or holds more than kMaxKinetoSlices of
// use. Memory: about 100 bytes a slice of use, whatever the file's size.
inline constexpr std::size_t kMaxKinetoSlices = 20'000'000;
[[nodiscard]] Result<KinetoTrace> readKineto(std::FILE* file);

// What the recording says of itself.
[[nodiscard]] Manifest manifestOf(const KinetoTrace& trace, const std::string& file);

// All events of it. `workers`: of the loader, where it has some.
void replayKineto(const KinetoTrace& trace, std::int32_t workers, EventOut& out);

}  // namespace stallprof
