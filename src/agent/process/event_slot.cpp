// SPDX-License-Identifier: MIT
#include "agent/process/event_slot.h"

#include <stdlib.h>

#include <atomic>

namespace stallprof::agent {
namespace {

// A record takes well under a microsecond to write; beyond this many tries its writer is off its
// CPU, and waiting for it would cost the job.
constexpr int kTries = 200;

constinit stallprof_event_writer writer{};
std::atomic<bool> writing;

bool lock() {
  for (int i = 0; i < kTries; ++i) {
    if (!writing.load(std::memory_order_relaxed) &&
        !writing.exchange(true, std::memory_order_acquire))
      return true;
  }
  return false;
}

}  // namespace

bool openEvents() {
  const char* path = getenv(STALLPROF_MEMORY_VARIABLE);
  return writer.memory != nullptr || (path != nullptr && stallprof_writer_open(&writer, path));
}

void putEvent(std::uint16_t kind, std::uint64_t at, std::uint32_t tid, const Value* values,
              std::uint16_t count) {
  if (!stallprof_writer_is_open(&writer)) return;
  if (!lock()) return dropEvent();
  stallprof_writer_put(&writer, kind, at, tid, values, count);
  writing.store(false, std::memory_order_release);
}

void dropEvent() { stallprof_writer_drop(&writer); }

void forgetEvents() {
  stallprof_writer_forget_slot(&writer);
  writing = false;
}

}  // namespace stallprof::agent
