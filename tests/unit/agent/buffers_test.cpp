// SPDX-License-Identifier: MIT
#include "agent/cupti/buffers.h"

#include <cstring>
#include <memory>

#include "agent/cupti/agent.h"
#include "tests/catch.h"

namespace stallprof::agent {
namespace {

constexpr std::size_t kCallBytes = 40;

// A CUPTI that knows records of calls alone, of 40 bytes.
CuptiResult nextCall(std::uint8_t* buffer, std::size_t valid, void** record) {
  auto* at = *record == nullptr ? buffer : static_cast<std::uint8_t*>(*record) + kCallBytes;
  if (at >= buffer + valid) return kCuptiNoMoreRecords;
  if (*reinterpret_cast<std::uint32_t*>(at) != cupti::kRuntime) return 21;  // an invalid kind
  *record = at;
  return kCuptiSuccess;
}

struct BufferBench {
  std::unique_ptr<stallprof_activity_area> area = std::make_unique<stallprof_activity_area>();

  BufferBench() {
    agent.memory.area = area.get();
    agent.cupti.nextRecord = nextCall;
    agent.cupti.droppedRecords = [](void*, std::uint32_t, std::size_t*) { return 1; };
  }
  ~BufferBench() {
    agent.memory = {};
    agent.cupti = {};
  }

  void returnBuffer(std::size_t calls, std::size_t valid) {
    std::uint8_t* buffer = nullptr;
    std::size_t size = 0, maximum = 0;
    requestBuffer(&buffer, &size, &maximum);
    const std::uint32_t kind = cupti::kRuntime;
    for (std::size_t i = 0; i < calls; ++i) std::memcpy(buffer + i * kCallBytes, &kind, 4);
    completeBuffer(nullptr, 0, buffer, size, valid);
  }
};

TEST_CASE("how long records are is learnt from a buffer that is walked to its end") {
  BufferBench bench;
  bench.returnBuffer(1, kCallBytes);
  CHECK(bench.area->stride[cupti::kRuntime] == kCallBytes);
  CHECK(bench.area->buffer[0].state == STALLPROF_BUFFER_FULL);
}

TEST_CASE("what follows the record at which a walk breaks off is not taken for its length") {
  BufferBench bench;
  bench.returnBuffer(3, 3 * kCallBytes + 4096);
  CHECK(bench.area->stride[cupti::kRuntime] == kCallBytes);
  bench.returnBuffer(1, kCallBytes + 4096);
  CHECK(bench.area->stride[cupti::kRuntime] == kCallBytes);
}

TEST_CASE("the name of a device becomes a number of the name log, as a kernel's does") {
  static const char name[] = "NVIDIA Test 1";
  BufferBench bench;
  agent.cupti.nextRecord = [](std::uint8_t* buffer, std::size_t, void** record) {
    if (*record != nullptr) return kCuptiNoMoreRecords;
    *record = buffer;
    return kCuptiSuccess;
  };
  cupti::DeviceRecord device{};
  device.kind = cupti::kDevice;
  device.name = reinterpret_cast<std::uint64_t>(name);
  std::uint8_t* buffer = nullptr;
  std::size_t size = 0, maximum = 0;
  requestBuffer(&buffer, &size, &maximum);
  std::memcpy(buffer, &device, sizeof device);
  completeBuffer(nullptr, 0, buffer, size, sizeof device);
  std::memcpy(&device, buffer, sizeof device);
  stallprof_name logged{};
  std::memcpy(&logged, bench.area->names, sizeof logged);
  CHECK(device.name == logged.number);
  CHECK(device.name == 1);
  CHECK(std::memcmp(bench.area->names + sizeof logged, name, logged.length) == 0);
  CHECK(logged.length == sizeof name - 1);
}

}  // namespace
}  // namespace stallprof::agent
