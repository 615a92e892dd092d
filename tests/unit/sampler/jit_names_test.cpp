// SPDX-License-Identifier: MIT
#include "sampler/perf/jit/jit_names.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>

#include "machine.h"
#include "tests/catch.h"

using namespace stallprof;

namespace {

// ---- jitdump, as tools/perf/util/jitdump.h has it
// ------------------------------------------------

template <class T>
std::string bytesOf(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}
std::string u32(std::uint32_t value) { return bytesOf(value); }
std::string u64(std::uint64_t value) { return bytesOf(value); }

std::string dumpHeader(std::uint32_t pid = 7, std::uint32_t magic = 0x4A695444) {
  return u32(magic) + u32(1) + u32(40) + u32(62) + u32(0) + u32(pid) + u64(1) + u64(0);
}
std::string dumpRecord(std::uint32_t id, const std::string& body) {
  return u32(id) + u32(static_cast<std::uint32_t>(16 + body.size())) + u64(2) + body;
}
std::string dumpLoad(std::uint64_t at, std::uint64_t bytes, const std::string& name,
                     std::uint32_t pid = 7) {
  return dumpRecord(0, u32(pid) + u32(pid) + u64(at) + u64(at) + u64(bytes) + u64(1) + name +
                           std::string(1, '\0') + std::string(bytes, '\xc3'));
}
std::string dumpMove(std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
  return dumpRecord(1, u32(7) + u32(7) + u64(to) + u64(from) + u64(to) + u64(bytes) + u64(1));
}

// ---- one file
// -------------------------------------------------------------------------------------

struct Growing {
  Machine machine;
  JitFunctions functions;
  JitFile file;

  explicit Growing(JitFile::Format format) : file(begun(machine), format) {}
  static Fd begun(Machine& machine) {
    machine.file("jit", "");
    return openAt(AT_FDCWD, (machine.root() + "/jit").c_str(), 0);
  }
  void append(const std::string& bytes, std::size_t maximum = 1000) {
    std::ofstream(machine.root() + "/jit", std::ios::binary | std::ios::app) << bytes;
    file.readOn(functions, maximum);
  }
  std::string at(std::uint64_t address) const { return std::string(functions.find(address).name); }
};

}  // namespace

TEST_CASE("what a JIT made later replaces what it overlaps") {
  JitFunctions functions;
  functions.add(0x1000, 0x100, "a");
  functions.add(0x1100, 0x100, "b");
  CHECK(functions.find(0x10ff).name == "a");
  CHECK(functions.find(0x1100).begin == 0x1100);
  CHECK(functions.find(0xfff).begin == 0);
  CHECK(functions.find(0x1200).begin == 0);
  functions.add(0x10f0, 0x20, "c");
  CHECK(functions.size() == 1);
  CHECK(functions.find(0x1000).begin == 0);
  functions.add(0, 0x10, "null");
  functions.add(0x2000, 0, "empty");
  functions.add(~std::uint64_t{0} - 4, 0x10, "around");
  functions.add(0x2000, JitFunctions::kMaxBytes + 1, "all");
  functions.add(0x2000, 0x10, "");
  CHECK(functions.size() == 1);
  functions.add(0x3000, 0x10, std::string(5000, 'x'));
  CHECK(functions.find(0x3000).name.size() == JitFunctions::kMaxName);
  functions.move(0x3000, 0x4000, 0x10);
  functions.move(0x9000, 0xa000, 0x10);
  CHECK(functions.find(0x3000).begin == 0);
  CHECK(functions.find(0x4008).begin == 0x4000);
}

TEST_CASE("a perf map is read as it grows, a line when it is whole") {
  Growing map(JitFile::Format::kPerfMap);
  map.append("1000 20 py::f:/a b.py\n0x2000 0x10 two\n30");
  CHECK(map.at(0x1010) == "py::f:/a b.py");
  CHECK(map.at(0x2000) == "two");
  map.append("00 10 three\n");
  CHECK(map.at(0x3000) == "three");
  SECTION("begun again") {
    REQUIRE(::truncate((map.machine.root() + "/jit").c_str(), 0) == 0);
    map.append("4000 10 four\n");
    CHECK(map.at(0x1010).empty());
    CHECK(map.at(0x4000) == "four");
  }
}

TEST_CASE("of a perf map that makes no sense what makes some is kept") {
  Growing map(JitFile::Format::kPerfMap);
  map.append("\n\n \n5000\n5000 10\nzz 10 a\n5000 zz b\n5000 ffffffffffffffffff c\n-1 10 d\n");
  map.append(std::string("\0\x80\xff 10 e\n", 9));
  CHECK(map.functions.size() == 0);
  map.append("6000 10 good\n");
  CHECK(map.at(0x6000) == "good");
  map.append(std::string(200'000, 'x'));  // no line at all
  map.append("\n7000 10 behind\n");
  map.file.readOn(map.functions, 1000);
  CHECK(map.at(0x7000) == "behind");
  map.append("8000 10 past the bound\n", map.functions.size());
  CHECK(map.at(0x8000).empty());
}

TEST_CASE("a jitdump is read as it grows, a record when it is whole") {
  Growing dump(JitFile::Format::kJitDump);
  const std::string load = dumpLoad(0x1000, 100'000, "gemm");  // longer than is read at once
  dump.append(dumpHeader().substr(0, 30));
  dump.append(dumpHeader().substr(30) + load.substr(0, 5000));
  CHECK(dump.at(0x1000).empty());
  dump.append(load.substr(5000) + dumpRecord(2, std::string(40, 'd')) + dumpLoad(0x90000, 8, "b"));
  CHECK(dump.at(0x1010) == "gemm");
  CHECK(dump.at(0x90007) == "b");
  dump.append(dumpMove(0x1000, 0x50000, 100'000) + dumpLoad(0x1000, 8, "child's", 8));
  CHECK(dump.at(0x1000).empty());
  CHECK(dump.at(0x50001) == "gemm");
}

TEST_CASE("what is no jitdump, or stops being one, is not read on") {
  SECTION("another magic") {
    Growing dump(JitFile::Format::kJitDump);
    dump.append(dumpHeader(7, 0x4454694A) + dumpLoad(0x1000, 8, "a"));
    CHECK(dump.functions.size() == 0);
  }
  SECTION("a record shorter than its head") {
    Growing dump(JitFile::Format::kJitDump);
    dump.append(dumpHeader() + dumpLoad(0x1000, 8, "a") + u32(0) + u32(3) + u64(0));
    dump.append(dumpLoad(0x2000, 8, "b"));
    CHECK(dump.at(0x1000) == "a");
    CHECK(dump.at(0x2000).empty());
  }
  SECTION("a record longer than the file, a name without an end, heads cut short") {
    Growing dump(JitFile::Format::kJitDump);
    dump.append(dumpHeader() + dumpRecord(0, u32(7)) + dumpRecord(1, u32(7)) +
                dumpRecord(0, u32(7) + u32(7) + u64(1) + u64(1) + u64(8) + u64(1) + "endless") +
                u32(0) + u32(0xfffffff0) + u64(0));
    CHECK(dump.functions.size() == 0);
  }
}

// ---- whose files
// ----------------------------------------------------------------------------------

namespace {

constexpr Nanos kFirstAsked{1'000'000'000}, kAskedAgain{20'000'000'000};

struct JitJob {
  Machine machine;
  JitNames names{machine.root()};

  // Process 7 outside is process 3 of its own pid namespace, with a root of its own.
  explicit JitJob(const std::string& user = std::to_string(::geteuid())) {
    machine.file("proc/7/status", "Name:\tpython3\nUid:\t1\t" + user + "\t1\t1\nNSpid:\t7\t3\n");
    machine.file("container/tmp/keep", "");
    machine.link("proc/7/root", machine.root() + "/container");
  }
  void map(const std::string& text, const std::string& at = "container/tmp/perf-3.map") {
    machine.file(at, text);
  }
  std::string at(std::uint32_t pid, std::uint64_t address, Nanos now = kFirstAsked) {
    return std::string(names.find(pid, address, now).name);
  }
  void take(PerfRecord::Kind kind, std::uint32_t pid, std::uint32_t parent, const char* path = "") {
    PerfRecord record;
    record.kind = kind;
    record.pid = record.tid = pid;
    record.parentPid = parent;
    record.path = path;
    names.take(record);
  }
};

}  // namespace

TEST_CASE("the perf map is of the process's own file system and pid namespace") {
  JitJob job;
  CHECK(job.at(7, 0x1000).empty());
  job.map("1000 10 outside\n", "tmp/perf-7.map");
  job.map("1000 10 other\n", "container/tmp/perf-7.map");
  job.map("1000 10 inside\n");
  CHECK(job.at(7, 0x1000).empty());  // not asked for again so soon
  CHECK(job.at(7, 0x1000, kAskedAgain) == "inside");
  CHECK(job.at(8, 0x1000, kAskedAgain).empty());
}

TEST_CASE("a jitdump is known by its mapping") {
  JitJob job;
  const std::string dump = dumpHeader() + dumpLoad(0x1000, 8, "jit_avx512");
  SECTION("seen as it was mapped") {
    job.machine.file("container/home/u/.debug/jit/jit-3.dump", dump);
    job.take(PerfRecord::Kind::kMap, 7, 0, "/home/u/.debug/jit/jit-3.dump");
    CHECK(job.at(7, 0x1000) == "jit_avx512");
  }
  SECTION("found in the process's maps, again and again") {
    job.machine.file("container/d/jit-3.dump", dump);
    for (int i = 0; i < 10; ++i)
      job.names.takeMaps(7, "7f00-7f10 r-xp 0 08:01 12   /d/jit-3.dump\n7f20-7f30 r-xp 0 0 0 \n");
    CHECK(job.at(7, 0x1000) == "jit_avx512");
  }
  SECTION("one of another name is none") {
    job.machine.file("container/d/jit-3.so", dump);
    job.take(PerfRecord::Kind::kMap, 7, 0, "/d/jit-3.so");
    CHECK(job.at(7, 0x1000).empty());
  }
}

TEST_CASE("a child has its parent's functions, until it runs another program") {
  JitJob job;
  job.map("1000 10 f\n");
  CHECK(job.at(7, 0x1000) == "f");
  job.take(PerfRecord::Kind::kFork, 9, 7);
  CHECK(job.at(9, 0x1000) == "f");
  CHECK(job.at(9, 0x2000).empty());
  job.map("1000 10 f\n2000 10 g\n");
  CHECK(job.at(7, 0x2000, kAskedAgain) == "g");
  CHECK(job.at(9, 0x2000, kAskedAgain).empty());
  job.take(PerfRecord::Kind::kExec, 9, 0);
  CHECK(job.at(9, 0x1000).empty());
  job.take(PerfRecord::Kind::kExit, 7, 0);
  job.machine.remove("proc/7");
  CHECK(job.at(7, 0x1000, kAskedAgain).empty());
}

TEST_CASE("only regular files of the process's user, within its root, are read") {
  const std::string text = "1000 10 f\n";
  SECTION("another user's") {
    JitJob job(std::to_string(::geteuid() + 1));
    job.map(text);
    CHECK(job.at(7, 0x1000).empty());
  }
  SECTION("a pipe that nobody writes to") {
    JitJob job;
    REQUIRE(::mkfifo((job.machine.root() + "/container/tmp/perf-3.map").c_str(), 0600) == 0);
    CHECK(job.at(7, 0x1000).empty());
  }
  SECTION("a directory, and a link") {
    JitJob job;
    job.map(text, "container/elsewhere");
    job.machine.link("container/tmp/perf-3.map", "/elsewhere");
    CHECK(job.at(7, 0x1000).empty());
    job.machine.remove("container/tmp/perf-3.map");
    job.map("", "container/tmp/perf-3.map/file");
    CHECK(job.at(7, 0x1000, kAskedAgain).empty());
  }
  SECTION("a folder that is a link stays within its root") {
    JitJob job;
    job.map(text, "elsewhere/perf-3.map");
    job.machine.remove("container/tmp");
    job.machine.link("container/tmp", job.machine.root() + "/elsewhere");
    CHECK(job.at(7, 0x1000).empty());
    job.map(text, "container/own/perf-3.map");
    job.machine.link("container/tmp", "/own");
    CHECK(job.at(7, 0x1000, kAskedAgain) == "f");
  }
}

TEST_CASE("the functions of all processes together are bounded") {
  JitJob job;
  std::string text;
  for (std::size_t i = 1; i <= 2 * JitNames::kMaxFunctions; ++i)
    text += std::to_string(i) + "000 1 f\n";
  job.map(text);
  for (int i = 0; i < 100; ++i) (void)job.at(7, 1, kFirstAsked + i * std::chrono::seconds(10));
  const std::string last = "0x" + std::to_string(2 * JitNames::kMaxFunctions) + "000";
  CHECK(job.at(7, 0x1000) == "f");
  CHECK(job.at(7, std::stoull(last, nullptr, 16), kFirstAsked + std::chrono::hours(1)).empty());
}
