// SPDX-License-Identifier: MIT
#include "sampler/perf_rings/perf_records.h"

#include "perf_bytes.h"
#include "tests/catch.h"

using namespace stallprof;
using stallprof::testing::PerfBytes;
using RecordKind = PerfRecord::Kind;

TEST_CASE("a sample says where which thread was, when, and on whose side") {
  const auto user = readPerfRecord(PerfBytes::sample(0x401234, 100, 103, 5'000).bytes());
  REQUIRE(user);
  CHECK(user->kind == RecordKind::kSample);
  CHECK(user->address == 0x401234);
  CHECK(user->pid == 100);
  CHECK(user->tid == 103);
  CHECK(user->at == Nanos(5'000));
  CHECK(user->period == Nanos(10'000));
  CHECK_FALSE(user->kernel);
  const auto kernel =
      readPerfRecord(PerfBytes::sample(0xffffffff81000000, 100, 103, 5'000, true).bytes());
  REQUIRE(kernel);
  CHECK(kernel->kernel);
  CHECK(kernel->userAddress == 0);
}

TEST_CASE("a sample in the kernel says where the thread runs on outside, of 64-bit registers") {
  const auto sample = [](std::uint64_t layout) {
    PerfBytes bytes = PerfBytes::sample(0xffffffff81000000, 100, 103, 5'000, true);
    return readPerfRecord(bytes.add(layout).add(std::uint64_t{0x7f0000401234}).bytes());
  };
  REQUIRE(sample(2));
  CHECK(sample(2)->userAddress == 0x7f0000401234);
  CHECK(sample(1)->userAddress == 0);
  CHECK(sample(0)->userAddress == 0);
}

TEST_CASE("a sample has the words of the stack that the kernel could copy") {
  const auto sample = [](std::uint64_t room, std::uint64_t copied) {
    PerfBytes bytes = PerfBytes::sample(0x401234, 100, 103, 5'000);
    bytes.add(std::uint64_t{2}).add(std::uint64_t{0x401234}).add(room);
    for (std::uint64_t word = 1; word <= 4; ++word) bytes.add(word);
    return readPerfRecord(bytes.add(copied).bytes())->stack;
  };
  CHECK(sample(32, 24) == std::vector<std::uint64_t>{1, 2, 3});
  CHECK(sample(32, 64).size() == 4);
  CHECK(sample(0, 0).empty());
  CHECK(sample(40, 40).empty());  // more than the record has
  CHECK(sample(~std::uint64_t{0}, 8).empty());
}

TEST_CASE("a mapping has its file, and the build id where the kernel gives it") {
  const std::vector<std::uint8_t> build = {0xab, 0x00, 0x5f};
  const auto reported = readPerfRecord(
      PerfBytes::mapping(7, 0x7f0000001000, 0x2000, 0x1000, "/lib/libx.so.1", build, 9).bytes());
  REQUIRE(reported);
  CHECK(reported->kind == RecordKind::kMap);
  CHECK(reported->pid == 7);
  CHECK(reported->address == 0x7f0000001000);
  CHECK(reported->bytes == 0x2000);
  CHECK(reported->offset == 0x1000);
  CHECK(reported->path == "/lib/libx.so.1");
  CHECK(reported->build == "ab005f");
  CHECK(reported->at == Nanos(9));
  const auto untold = readPerfRecord(PerfBytes::mapping(7, 1, 2, 3, "//anon", {}, 9).bytes());
  REQUIRE(untold);
  CHECK(untold->build.empty());
  CHECK(untold->path == "//anon");
}

TEST_CASE("births, deaths, execs and new names are distinguished") {
  const auto fork = readPerfRecord(PerfBytes::task(7, 200, 100, 200, 11).bytes());
  REQUIRE(fork);
  CHECK(fork->kind == RecordKind::kFork);
  CHECK(fork->pid == 200);
  CHECK(fork->parentPid == 100);
  CHECK(fork->parentTid == 101);
  CHECK(fork->at == Nanos(11));
  CHECK(readPerfRecord(PerfBytes::task(4, 200, 100, 200, 11).bytes())->kind == RecordKind::kExit);
  PerfBytes exec(3, 1 << 13);
  exec.add(std::uint32_t{200}).add(std::uint32_t{200}).text("python3").sampleId(200, 200, 12);
  REQUIRE(readPerfRecord(exec.bytes()));
  CHECK(readPerfRecord(exec.bytes())->kind == RecordKind::kExec);
  CHECK(readPerfRecord(exec.bytes())->comm == "python3");
  PerfBytes renamed(3, 0);
  renamed.add(std::uint32_t{200}).add(std::uint32_t{200}).text("worker").sampleId(200, 200, 12);
  REQUIRE(readPerfRecord(renamed.bytes()));
  CHECK(readPerfRecord(renamed.bytes())->kind == RecordKind::kName);
  CHECK(readPerfRecord(renamed.bytes())->comm == "worker");
  CHECK(readPerfRecord(renamed.bytes())->at == Nanos(12));
}

TEST_CASE("records that were lost are counted") {
  PerfBytes lost(2, 0);
  lost.add(std::uint64_t{1}).add(std::uint64_t{17}).sampleId(1, 1, 1);
  REQUIRE(readPerfRecord(lost.bytes()));
  CHECK(readPerfRecord(lost.bytes())->kind == RecordKind::kLost);
  CHECK(readPerfRecord(lost.bytes())->count == 17);
}

TEST_CASE("a record that is cut short is none, at any length") {
  for (const PerfBytes& whole : {PerfBytes::sample(1, 2, 3, 4), PerfBytes::task(7, 1, 2, 3, 4),
                                 PerfBytes::mapping(7, 1, 2, 3, "", {1, 2}, 9)}) {
    const auto bytes = whole.bytes();
    for (std::size_t length = 0; length < 32; ++length)
      CHECK_FALSE(readPerfRecord(std::span(bytes).first(length)));
  }
}

TEST_CASE("a build id longer than its place is cut at it, a path without an end at the record's") {
  auto bytes = PerfBytes::mapping(7, 1, 2, 3, "/lib/lib", {1}, 9).bytes();
  bytes[40] = 255;                                       // the build id's length
  for (std::size_t i = 72; i < 88; ++i) bytes[i] = 'x';  // the path, over its zeros
  const auto record = readPerfRecord(bytes);
  REQUIRE(record);
  CHECK(record->build.size() == 40);
  CHECK(record->path == std::string(16, 'x'));
}
