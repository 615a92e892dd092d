// SPDX-License-Identifier: MIT
// A slot of the event memory as the job may leave it: the input is its head, then its ring.
#include "recording/memory/event_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/fd.h"
#include "recording/memory/ring.h"
#include "tests/fuzz/event_counter.h"

namespace {

using namespace stallprof;

struct Memory {
  std::unique_ptr<EventMemory> recorder = std::move(EventMemory::create()).value();
  stallprof_memory_header* header = nullptr;
  stallprof_slot* slot = nullptr;
  Nanos clock = std::chrono::seconds(1);

  Memory() {
    const auto pid = static_cast<std::uint32_t>(::getpid());
    const Fd fd = openAt(AT_FDCWD, recorder->path(pid).c_str(), O_RDWR);
    void* at =
        ::mmap(nullptr, STALLPROF_MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (at == MAP_FAILED) std::abort();
    header = static_cast<stallprof_memory_header*>(at);
    slot = reinterpret_cast<stallprof_slot*>(header + 1);
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Memory memory;
  std::uint64_t head = 0;
  if (size < sizeof head) return 0;
  std::memcpy(&head, data, sizeof head);
  data += sizeof head;
  size = std::min<std::size_t>(size - sizeof head, STALLPROF_RING_BYTES);
  std::memcpy(memory.slot->data, data, size);
  std::memset(memory.slot->data + size, 0, std::min<std::size_t>(64, STALLPROF_RING_BYTES - size));
  memory.slot->owner = 42;
  memory.slot->start_ticks = 1;
  memory.slot->head = head;
  ++memory.header->claims;

  EventCounter out;
  bool gone = false;
  const EventMemory::Identities identities{
      [](std::uint32_t pid, std::uint64_t) { return ProcessId{pid}; },
      [](ProcessId, std::uint32_t tid) { return ThreadId{tid}; },
      [&](std::uint32_t, std::uint64_t) { return gone; }};
  memory.recorder->drain(memory.clock += std::chrono::seconds(2), identities, out);
  gone = true;  // frees the slot, so that the next input begins like this one
  memory.recorder->drain(memory.clock += std::chrono::seconds(2), identities, out);
  if (memory.slot->owner != 0 || out.events > STALLPROF_RING_BYTES / 24 + 4) std::abort();
  return 0;
}
