// SPDX-License-Identifier: MIT
// A trace of PyTorch's profiler, and the recording that it becomes.
#include "trace/kineto.h"

#include <cstdint>
#include <cstdio>
#include <memory>

#include "tests/fuzz/event_counter.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stallprof;
  if (size == 0) return 0;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      ::fmemopen(const_cast<std::uint8_t*>(data), size, "r"), &std::fclose);
  const Result<KinetoTrace> trace = readKineto(file.get());
  if (!trace.ok()) return 0;
  EventCounter out;
  (void)manifestOf(trace.value(), "trace.json");
  replayKineto(trace.value(), trace.value().hasWorkers() ? 2 : 0, out);
  return 0;
}
