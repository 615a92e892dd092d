// SPDX-License-Identifier: MIT
#include "trace/native_symbols.h"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "tests/catch.h"
#include "tests/text_form/trace_form.h"
#include "tests/unit/machine_code/small_elf.h"
#include "tests/unit/recording/temporary_directory.h"

using namespace stallprof;
using stallprof::testing::SmallElf;
using stallprof::testing::TemporaryDirectory;

namespace {

void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string library() {
  return SmallElf()
      .load(0x1000, 0x1000, 0x1000)
      .buildId("\xab\xcd\xef")
      .symbol("work", 0x1000, 0x100)
      .bytes();
}

// One sample at 0x1010 of `file`.
Trace sampled(const std::string& file, const std::string& build,
              const char* started = "4000000000s") {
  auto trace =
      parseTrace("manifest started_realtime=" + std::string(started) +
                 "\n0 thread thread=1 process=1 tid=1\n0 native thread=1 duration=1s file=\"" +
                 file + "\" build=\"" + build + "\" offset=4112 samples=3\n");
  REQUIRE(trace.ok());
  return std::move(trace).value();
}

std::string nameIn(const Trace& trace) {
  return std::string(trace.text(trace.threads.at(0).natives.at(0).data.function));
}

}  // namespace

TEST_CASE("a sample is named by the file it fell into, if it is the one that ran") {
  const TemporaryDirectory scratch;
  const std::string file = scratch / "libx.so";
  write(file, library());
  const auto check = [](Trace ran, Trace changed) {
    CHECK(nameNativeSymbols(ran).read == 1);
    CHECK(nameIn(ran) == "work");
    CHECK(nameNativeSymbols(changed).changed == 1);
    CHECK(nameIn(changed).empty());
  };
  SECTION("by its build id") { check(sampled(file, "abcdef"), sampled(file, "000000")); }
  SECTION("without one, by not having changed since the run began") {
    check(sampled(file, ""), sampled(file, "", "1000000000s"));
  }
}

TEST_CASE("files that are gone, no files, or not where they were are left alone") {
  const TemporaryDirectory scratch;
  Trace gone = sampled(scratch / "libx.so", "abcdef");
  CHECK(nameNativeSymbols(gone).missing == 1);
  REQUIRE(::mkfifo((scratch / "pipe").c_str(), 0600) == 0);
  Trace pipe = sampled(scratch / "pipe", "abcdef");
  CHECK(nameNativeSymbols(pipe).missing == 1);
  for (const char* nowhere : {"[vdso]", "//anon", "[kernel]", ""}) {
    Trace none = sampled(nowhere, "");
    CHECK(nameNativeSymbols(none).files == 0);
  }
}

TEST_CASE("row 73: what a recording names is opened only where it is a regular file of a disk") {
  const TemporaryDirectory scratch;
  REQUIRE(::mkfifo((scratch / "pipe").c_str(), 0600) == 0);
  const int opened = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  for (const std::string& path :
       {scratch / "pipe", std::string("/dev/zero"), std::string("/proc/kallsyms")}) {
    INFO(path);
    if (!path.starts_with("/proc"))
      REQUIRE(::inotify_add_watch(opened, path.c_str(), IN_OPEN) >= 0);
    Trace trace = sampled(path, "abcdef");
    CHECK(nameNativeSymbols(trace).missing == 1);
  }
  char event[4096];
  CHECK(::read(opened, event, sizeof event) == -1);
  ::close(opened);
}

TEST_CASE("what could not be named is said as a source of the trace") {
  const TemporaryDirectory scratch;
  Trace gone = sampled(scratch / "libx.so", "abcdef");
  nameNativeSymbols(gone);
  REQUIRE(gone.sources.size() == 1);
  CHECK(gone.text(gone.sources[0].data.source) == "native_symbols");
  CHECK(gone.sources[0].data.state == Coverage::kAbsent);
}

TEST_CASE("what the recorder read of a place needs no file, nor is it asked again") {
  const TemporaryDirectory scratch;
  const std::string file = scratch / "libx.so";
  const auto recorded = [&](const char* line) {
    auto trace = parseTrace(
        "manifest started_realtime=4000000000s\n0 thread thread=1 process=1 tid=1\n0 native "
        "thread=1 duration=1s file=\"" +
        file + "\" build=\"abcdef\" offset=4112 samples=3\n5s native_place file=\"" + file +
        "\" build=\"abcdef\" offset=4112 " + line + "\n");
    REQUIRE(trace.ok());
    return std::move(trace).value();
  };
  Trace gone = recorded("function=\"train\" draws=1 loop=products");
  CHECK(nameNativeSymbols(gone).read == 1);
  CHECK(nameIn(gone) == "train");
  const NativeSlice& slice = gone.threads.at(0).natives.at(0).data;
  CHECK(slice.draws);
  CHECK(slice.loop == LoopCode::kProducts);
  CHECK(gone.sources.empty());
  write(file, library());
  Trace nameless = recorded("");  // it had no symbol there when it ran
  nameNativeSymbols(nameless);
  CHECK(nameIn(nameless).empty());
  Trace python = recorded("function=\"train\" loop=products");
  python.threads.at(0).stacks.push_back({Nanos{}, StackSlice{}});
  nameNativeSymbols(python);
  CHECK(python.threads.at(0).natives.at(0).data.loop == LoopCode::kUnknown);
}

TEST_CASE("installed debugging symbols name what the file itself does not") {
  const TemporaryDirectory scratch;
  write(scratch / "libx.so",
        SmallElf().load(0x1000, 0x1000, 0x1000).buildId("\xab\xcd\xef").bytes());
  ::mkdir((scratch / ".build-id").c_str(), 0700);
  ::mkdir((scratch / ".build-id/ab").c_str(), 0700);
  write(scratch / ".build-id/ab/cdef.debug", library());
  Trace trace = sampled(scratch / "libx.so", "abcdef");
  nameNativeSymbols(trace, scratch.path());
  CHECK(nameIn(trace) == "work");
}

TEST_CASE("code is judged by its loop in a program without an interpreter, from its file") {
  const TemporaryDirectory scratch;
  const std::string file = scratch / "trainer";
  std::string bytes = library();
  bytes.resize(0x1010, '\x90');
  bytes += std::string(
               "\xf3\x0f\x10\x0c\x87\xf3\x0f\x59\x0c\x86\xf3\x0f\x58\xc1\x48\xff\xc0\x48\x39\xd0") +
           "\x7c\xea\xc3";  // sums products
  write(file, bytes);
  const auto loopIn = [](const Trace& trace) {
    return trace.threads.at(0).natives.at(0).data.loop;
  };
  Trace native = sampled(file, "abcdef");
  nameNativeSymbols(native);
  CHECK(loopIn(native) == LoopCode::kProducts);
  Trace python = sampled(file, "abcdef");
  python.threads.at(0).stacks.push_back({Nanos{}, StackSlice{}});
  nameNativeSymbols(python);
  CHECK(loopIn(python) == LoopCode::kUnknown);
}
