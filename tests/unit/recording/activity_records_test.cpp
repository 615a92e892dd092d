// SPDX-License-Identifier: MIT
#include "recording/cupti/activity_records.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>

#include "activity_writer.h"
#include "tests/catch.h"

namespace stallprof {
namespace {

using testing::CuptiBytes;
using Strides = std::array<std::uint32_t, STALLPROF_ACTIVITY_KINDS>;

constexpr std::uint32_t kVersions[] = {18, 19, 26, 130000};

Strides stridesOf(std::uint32_t version) {
  Strides strides{};
  for (std::uint32_t kind = 0; kind < strides.size(); ++kind)
    strides[kind] = CuptiBytes::sizeOf(kind, version);
  return strides;
}

// One of each kind.
CuptiBytes sample(std::uint32_t version) {
  CuptiBytes records(version);
  records.device(3, 77, 0xcd, true)
      .kernel({1000, 2000}, 5, 7, 3, 11, 24)
      .copy({3000, 4000}, 123, 2, 2, 3)
      .peerCopy({5000, 6000}, 456, 3)
      .set({7000, 8000}, 789, 3)
      .call({9000, 9100}, 211, 43, false, 12)
      .call({9200, 9300}, 307, 44, true, 13)
      .sync({9400, 9500}, 4)
      .graph({9600, 9700}, 3)
      .overhead({9800, 9900}, 5 << 16, 45);
  return records;
}

std::vector<std::uint8_t> copyOf(const CuptiBytes& records) {
  return {records.bytes().begin(), records.bytes().end()};
}

struct Walked {
  std::size_t damagedBytes = 0;
  std::vector<ActivityRecord> records;
  ActivityDevice device;  // of the last record that is one
};
Walked walked(const std::vector<std::uint8_t>& bytes, const Strides& strides, std::uint32_t version,
              bool torn = false) {
  Walked result;
  // Behind its last byte there is nothing a sanitizer would let pass.
  const std::vector<std::uint8_t> exact(bytes.begin(), bytes.end());
  ActivityReader reader({exact, strides, version, torn});
  while (const ActivityRecord* record = reader.next()) {
    if (record->kind == ActivityKind::kDevice) result.device = deviceIn(*record);
    result.records.push_back(*record);
  }
  result.damagedBytes = reader.damagedBytes();
  return result;
}

TEST_CASE("every kind of record is read in every CUPTI's layout") {
  for (const std::uint32_t version : kVersions) {
    INFO("cuptiGetVersion " << version);
    // As the agent saw them, and as the version alone says.
    for (const Strides& strides : {stridesOf(version), Strides{}}) {
      const Walked got = walked(copyOf(sample(version)), strides, version);
      CHECK(got.damagedBytes == 0);
      REQUIRE(got.records.size() == 10);
      const ActivityRecord &device = got.records[0], &kernel = got.records[1],
                           &copy = got.records[2], &peer = got.records[3], &set = got.records[4],
                           &runtime = got.records[5], &driver = got.records[6],
                           &sync = got.records[7], &graph = got.records[8],
                           &overhead = got.records[9];
      CHECK(device.device == 3);
      CHECK(device.name == 77);
      CHECK(got.device.mig);
      CHECK(got.device.uuid[0] == 0xce);  // the instance's, not the device's
      CHECK(got.device.multiprocessors == 132);
      CHECK(kernel.start == 1000);
      CHECK(kernel.end == 2000);
      CHECK(kernel.name == 5);
      CHECK(kernel.device == 3);
      CHECK(kernel.context == 4);
      CHECK(kernel.stream == 7);
      CHECK(kernel.correlation == 11);
      CHECK(kernel.blocks == 24);
      CHECK(kernel.blockThreads == 256);
      CHECK(copy.bytes == 123);
      CHECK(copy.code == 2);
      CHECK(copy.sourceMemory == 3);
      CHECK(copy.targetMemory == 2);
      CHECK(copy.correlation == 9);
      CHECK(peer.bytes == 456);
      CHECK(peer.correlation == 9);
      CHECK(set.bytes == 789);
      CHECK(runtime.code == 211);
      CHECK(runtime.thread == 43);
      CHECK(driver.kind == ActivityKind::kDriver);
      CHECK(driver.correlation == 13);
      CHECK(sync.code == 4);
      CHECK(sync.start == 9400);
      CHECK(graph.device == 3);
      CHECK(graph.end == 9700);
      CHECK(overhead.code == 5u << 16);
      CHECK(overhead.thread == 45);
    }
  }
}

TEST_CASE("a kind that is not read is passed over by its length, and without one ends the walk") {
  CuptiBytes records(130000);
  records.kernel({1, 2}, 1);
  const std::string marker = std::string("\x0c\0\0\0", 4) + std::string(44, 'm');  // kind 12
  records.raw(marker).kernel({3, 4}, 1);
  Strides strides = stridesOf(130000);
  strides[12] = 48;
  Walked got = walked(copyOf(records), strides, 130000);
  CHECK(got.records.size() == 2);
  CHECK(got.damagedBytes == 0);
  strides[12] = 0;
  got = walked(copyOf(records), strides, 130000);
  CHECK(got.records.size() == 1);
  CHECK(got.damagedBytes == 48 + 216);
}

TEST_CASE("a buffer that was never returned is read to its first zero record, whatever is cut") {
  const std::vector<std::uint8_t> whole = copyOf(sample(130000));
  const Strides strides = stridesOf(130000);
  std::vector<std::size_t> ends;
  for (std::size_t at = 0; at < whole.size();) {
    std::uint32_t kind = 0;
    std::memcpy(&kind, whole.data() + at, sizeof kind);
    at += strides[kind];
    ends.push_back(at);
  }
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    std::vector<std::uint8_t> bytes(whole.begin(),
                                    whole.begin() + static_cast<std::ptrdiff_t>(cut));
    const auto before = static_cast<std::size_t>(
        std::count_if(ends.begin(), ends.end(), [&](std::size_t end) { return end <= cut; }));
    CHECK(walked(bytes, strides, 130000, true).records.size() == before);
    bytes.resize(whole.size() + 4096);  // as it is: zeros behind what was written
    const Walked padded = walked(bytes, strides, 130000, true);
    // Of the record that was being written, what is there is passed on; its times decide.
    CHECK(padded.records.size() >= before);
    CHECK(padded.records.size() <= before + 1);
    CHECK(padded.damagedBytes == 0);
    CHECK(writtenBytes(bytes) >= cut - (cut % 8));
    CHECK(writtenBytes(bytes) <= cut + 8 + 1024);
  }
}

TEST_CASE("no byte of a buffer can make the walk leave it") {
  std::mt19937 random(7);
  for (const std::uint32_t version : kVersions) {
    const std::vector<std::uint8_t> whole = copyOf(sample(version));
    for (std::size_t at = 0; at < whole.size(); ++at)
      for (const char value : {'\0', '\x01', '\x0a', '\x7f', '\xff'}) {
        std::vector<std::uint8_t> bytes = whole;
        bytes[at] = static_cast<std::uint8_t>(value);
        for (const bool torn : {false, true}) {
          const Walked got = walked(bytes, stridesOf(version), version, torn);
          REQUIRE(got.records.size() <= 40);
        }
      }
    for (int round = 0; round < 2000; ++round) {
      Strides strides{};
      for (std::uint32_t& stride : strides)
        stride = static_cast<std::uint32_t>(random() % 4 == 0 ? random() : random() % 300);
      const Walked got = walked(whole, strides, version, round % 2 == 0);
      REQUIRE(got.damagedBytes <= whole.size());
    }
  }
}

TEST_CASE("a length is believed only within what a record of its kind can have") {
  for (const std::uint32_t wrong : {8u, 100u, 143u, 209u, 1032u, 4096u, ~0u})
    CHECK(activityStride(10, wrong, 130000) == 0);
  CHECK(activityStride(10, 208, 130000) == 208);  // what the agent saw comes first
  CHECK(activityStride(10, 0, 130000) == 216);
  CHECK(activityStride(10, 0, 130100) == 0);  // newer than what was read for this
  CHECK(activityStride(63, 64, 130000) == 64);
  CHECK(activityStride(64, 64, 130000) == 0);
}

// The layouts above are ours; whether they are CUPTI's, its own iterator says. It needs no driver.
TEST_CASE("the real libcupti walks the built buffers alike") {
  void* library = nullptr;
  for (const char* path :
       {"/usr/local/cuda/lib64/libcupti.so.13", "/usr/local/cuda/lib/libcupti.so.13",
        STALLPROF_TESTS_DIR "/../.cache/cuda/nvidia/cu13/lib/libcupti.so.13"})
    if (library == nullptr) library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    testing::skipTest("no libcupti.so.13 of the toolkit or of scripts/setup");
    return;
  }
  const auto next = reinterpret_cast<int (*)(std::uint8_t*, std::size_t, void**)>(
      ::dlsym(library, "cuptiActivityGetNextRecord"));
  REQUIRE(next != nullptr);
  CuptiBytes records(130000);
  for (std::uint64_t i = 0; i < 50; ++i) {
    const CuptiBytes one = sample(130000);
    records.raw(one.bytes()).kernel({100 + i, 200 + i}, 5);
  }
  std::vector<std::uint8_t> bytes = copyOf(records);
  const Walked ours = walked(bytes, stridesOf(130000), 130000);
  bytes.resize(bytes.size() + 4096);
  void* record = nullptr;
  std::size_t count = 0;
  int result = 0;
  std::size_t offset = 0;
  for (; (result = next(bytes.data(), bytes.size(), &record)) == 0; ++count) {
    REQUIRE(count < ours.records.size());
    const auto at = static_cast<std::size_t>(static_cast<std::uint8_t*>(record) - bytes.data());
    REQUIRE(at == offset);
    std::uint32_t kind = 0;
    std::memcpy(&kind, record, sizeof kind);
    REQUIRE(kind == static_cast<std::uint32_t>(ours.records[count].kind));
    offset += activityStride(kind, 0, 130000);
  }
  CHECK(count == ours.records.size());
  CHECK(count == 550);
  CHECK(result == 21);  // CUPTI_ERROR_INVALID_KIND: the zeros behind
}

}  // namespace
}  // namespace stallprof
