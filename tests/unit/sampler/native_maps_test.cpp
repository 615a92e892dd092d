// SPDX-License-Identifier: MIT
#include "sampler/perf/native_maps.h"

#include "event_list.h"
#include "tests/catch.h"

using namespace stallprof;

namespace {

PerfRecord map(std::uint32_t pid, std::uint64_t at, std::uint64_t bytes, std::uint64_t offset,
               const char* path, const char* build = "") {
  PerfRecord record;
  record.kind = PerfRecord::Kind::kMap;
  record.pid = record.tid = pid;
  record.address = at;
  record.bytes = bytes;
  record.offset = offset;
  record.path = path;
  record.build = build;
  return record;
}

PerfRecord task(PerfRecord::Kind kind, std::uint32_t pid, std::uint32_t parent = 0) {
  PerfRecord record;
  record.kind = kind;
  record.pid = record.tid = pid;
  record.parentPid = parent;
  return record;
}

struct MapsBench {
  EventList list;
  NativeMaps maps;

  void take(const PerfRecord& record) { maps.take(record, list); }
  // "file+offset" of an address, "-" where nothing is mapped.
  std::string at(std::uint32_t pid, std::uint64_t address) {
    const auto place = maps.find(pid, address);
    return place ? list.text(place->file) + "+" + std::to_string(place->offset) : "-";
  }
};

}  // namespace

TEST_CASE("an address is found in the file that is mapped there, at its offset in it") {
  MapsBench b;
  b.take(map(1, 0x1000, 0x1000, 0x3000, "/lib/a.so", "aa"));
  b.take(map(1, 0x2000, 0x1000, 0, "/lib/b.so"));
  CHECK(b.at(1, 0x0fff) == "-");
  CHECK(b.at(1, 0x1000) == "/lib/a.so+" + std::to_string(0x3000));
  CHECK(b.at(1, 0x1fff) == "/lib/a.so+" + std::to_string(0x3fff));
  CHECK(b.at(1, 0x2010) == "/lib/b.so+16");
  CHECK(b.at(1, 0x3000) == "-");
  CHECK(b.at(2, 0x1000) == "-");
  CHECK(b.list.text(b.maps.find(1, 0x1000)->build) == "aa");
}

TEST_CASE("what is mapped over another replaces it there, and what is left keeps its offsets") {
  MapsBench b;
  b.take(map(1, 0x1000, 0x4000, 0, "/lib/a.so"));
  b.take(map(1, 0x2000, 0x1000, 0, "/lib/b.so"));
  CHECK(b.at(1, 0x1800) == "/lib/a.so+" + std::to_string(0x800));
  CHECK(b.at(1, 0x2800) == "/lib/b.so+" + std::to_string(0x800));
  CHECK(b.at(1, 0x3800) == "/lib/a.so+" + std::to_string(0x2800));
  b.take(map(1, 0x0800, 0x4000, 0, "/lib/c.so"));  // over the begin of one and all of another
  CHECK(b.at(1, 0x1800) == "/lib/c.so+" + std::to_string(0x1000));
  CHECK(b.at(1, 0x2800) == "/lib/c.so+" + std::to_string(0x2000));
  CHECK(b.at(1, 0x4800) == "/lib/a.so+" + std::to_string(0x3800));
}

TEST_CASE("a child has its parent's mappings, and changes them for itself alone") {
  MapsBench b;
  b.take(map(1, 0x1000, 0x1000, 0, "/lib/a.so"));
  b.take(task(PerfRecord::Kind::kFork, 2, 1));
  CHECK(b.at(2, 0x1000) == "/lib/a.so+0");
  b.take(map(2, 0x5000, 0x1000, 0, "/lib/child.so"));
  b.take(map(1, 0x6000, 0x1000, 0, "/lib/parent.so"));
  CHECK(b.at(2, 0x5000) == "/lib/child.so+0");
  CHECK(b.at(2, 0x6000) == "-");
  CHECK(b.at(1, 0x5000) == "-");
  CHECK(b.at(1, 0x6000) == "/lib/parent.so+0");
}

TEST_CASE("an exec and a death end all mappings, a thread's death none") {
  MapsBench b;
  b.take(map(1, 0x1000, 0x1000, 0, "/lib/a.so"));
  PerfRecord thread = task(PerfRecord::Kind::kExit, 1);
  thread.tid = 5;
  b.take(thread);
  CHECK(b.at(1, 0x1000) == "/lib/a.so+0");
  b.take(task(PerfRecord::Kind::kExec, 1));
  CHECK(b.at(1, 0x1000) == "-");
  b.take(map(1, 0x1000, 0x1000, 0, "/lib/b.so"));
  b.take(task(PerfRecord::Kind::kExit, 1));
  CHECK(b.at(1, 0x1000) == "-");
  CHECK(b.maps.processes() == 0);
}

TEST_CASE("/proc/PID/maps gives what is executable, and leaves the build ids that are known") {
  MapsBench b;
  b.take(map(1, 0x7f0000001000, 0x1000, 0x1000, "/lib/a.so", "cafe"));
  b.maps.takeMaps(1,
                  "400000-401000 r--p 00000000 fe:00 1      /bin/with a space\n"
                  "401000-402000 r-xp 00001000 fe:00 1      /bin/with a space\n"
                  "7f0000001000-7f0000002000 r-xp 00001000 fe:00 2  /lib/a.so (deleted)\n"
                  "7f0000005000-7f0000006000 r-xp 00000000 00:00 0\n"
                  "7ffc00000000-7ffc00001000 r-xp 00000000 00:00 0  [vdso]\n"
                  "not a line of maps\n",
                  b.list);
  CHECK(b.at(1, 0x400010) == "-");
  CHECK(b.at(1, 0x401010) == "/bin/with a space+" + std::to_string(0x1010));
  CHECK(b.at(1, 0x7f0000001010) == "/lib/a.so+" + std::to_string(0x1010));
  CHECK(b.list.text(b.maps.find(1, 0x7f0000001010)->build) == "cafe");
  CHECK(b.at(1, 0x7f0000005004) == "//anon+4");
  CHECK(b.at(1, 0x7ffc00000000) == "[vdso]+0");
}

TEST_CASE("a file that is not the one at its path has a build that no file has") {
  MapsBench b;
  const char* const kMaps =
      "1000-2000 r-xp 00000000 fe:00 1  /lib/a.so (deleted)\n"
      "3000-4000 r-xp 00000000 fe:00 2  /lib/b.so\n"
      "5000-6000 r-xp 00000000 00:00 0  [vdso]\n";
  const auto build = [&](std::uint64_t at) { return b.list.text(b.maps.find(1, at)->build); };
  b.maps.takeMaps(1, kMaps, b.list);
  CHECK(build(0x1010) == NativeMaps::kAnotherFile);
  CHECK(build(0x3010).empty());
  const auto isFile = [](std::uint64_t number) {
    return [=](std::string_view, std::uint64_t inode) { return inode != number; };
  };
  b.maps.takeMaps(1, kMaps, b.list, isFile(2));  // mounts of its own, and the same file
  CHECK(build(0x3010).empty());
  b.maps.takeMaps(1, kMaps, b.list, isFile(7));
  CHECK(build(0x3010) == NativeMaps::kAnotherFile);
  CHECK(build(0x5010).empty());
}

TEST_CASE("a process with more mappings than there is room for keeps the first") {
  MapsBench b;
  for (std::uint64_t i = 0; i < NativeMaps::kMaxRegions + 100; ++i)
    b.take(map(1, 0x1000 * (i + 1), 0x1000, 0, "/lib/a.so"));
  CHECK(b.at(1, 0x1000 * NativeMaps::kMaxRegions) == "/lib/a.so+0");
  CHECK(b.at(1, 0x1000 * (NativeMaps::kMaxRegions + 50)) == "-");
}

TEST_CASE("a mapping that would go past the end of memory ends there") {
  MapsBench b;
  b.take(map(1, ~0ull - 10, 1000, 0, "/lib/a.so"));
  CHECK(b.at(1, ~0ull - 5) == "/lib/a.so+5");
}
