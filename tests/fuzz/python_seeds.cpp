// SPDX-License-Identifier: MIT
// Seeds of what is read of a Python: one thread with a frame, a generator's frame and a call from
// C, in a memory of 4 KB, for each layout there is. Part of fuzz_seeds.
#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "ring_writer.h"
#include "sample_events.h"
#include "sampler/python/runtime/layout.h"
#include "tests/catch.h"
#include "tests/fuzz/input_memory.h"
#include "tests/unit/sampler_python/one_sample.h"

namespace stallprof::python {
namespace {

// Where things lie in the seed's memory.
constexpr std::uint32_t kGil = 0x480, kInterpreter = 0x4c0, kThread = 0x880, kCframe = 0x9c0,
                        kChunk = 0xa00, kFrame = 0xa18, kGenerator = 0xb00, kShim = 0xc00,
                        kCode = 0xd00, kName = 0xe00, kFile = 0xe80, kTable = 0xf00,
                        kCopies = 0xf80, kEnd = 0x1000;
// 5, the thread's number, lies at 16 + 720, where glibc keeps it.
constexpr std::uint32_t kPthread = 16, kTid = 5;

class Memory {
 public:
  template <class T>
  void put(std::uint32_t at, T value) {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  void word(std::uint32_t at, std::uint64_t value) { put(at, value); }
  void text(std::uint32_t at, std::string_view text) {
    std::memcpy(bytes_.data() + at, text.data(), text.size());
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_ = std::string(kEnd, '\0');
};

void putText(Memory& memory, const Layout& l, std::uint32_t at, std::string_view text) {
  const bool late = l.freeThreaded && l.minor() >= 14;
  memory.word(at + l.textLength, text.size());
  memory.put<std::uint32_t>(at + l.textState, (1u | 1u << 3 | 1u << 4) << (late ? 8 : 2));
  memory.text(at + l.asciiData, text);
}

void putFrame(Memory& memory, const Layout& l, std::uint32_t at, std::uint32_t back,
              std::uint8_t owner) {
  memory.word(at + l.back, back);
  memory.word(at + l.code, kCode | (l.minor() >= 14 ? 1u : 0u));
  if (l.owner != 0) memory.put<std::uint8_t>(at + l.owner, owner);
  if (l.copyIndex != 0) memory.put<std::uint32_t>(at + l.copyIndex, 1);
  if (l.heapFrames())
    memory.put<std::int32_t>(at + l.instruction, 4);
  else
    memory.word(at + l.instruction, (l.copyIndex != 0 ? kCopies + 24 : kCode + l.codeUnits) + 4);
}

void putCode(Memory& memory, const Layout& l) {
  memory.word(kCode + l.typeOf, 0x20);
  memory.word(kCode + l.typeOf + 8, 8);  // units
  memory.word(kCode + l.name, kName);
  if (l.qualifiedName != 0) memory.word(kCode + l.qualifiedName, kName);
  memory.word(kCode + l.fileName, kFile);
  memory.word(kCode + l.lineTable, kTable);
  memory.put<std::uint32_t>(kCode + l.firstLine, 7);
  if (l.copies != 0) memory.word(kCode + l.copies, kCopies);
  memory.word(kCopies, 2);
  memory.word(kCopies + 16, kCopies + 24);
  putText(memory, l, kName, "work");
  putText(memory, l, kFile, "train.py");
  const std::string table = l.lines == LineFormat::kLnotab      ? std::string("\0\1\4\5", 4)
                            : l.lines == LineFormat::kLinetable ? std::string("\4\1\x20\5", 4)
                                                                : std::string("\xeb\2\xeb\4", 4);
  memory.word(kTable + l.bytesSize, table.size());
  memory.text(kTable + l.bytesData, table);
}

void putThread(Memory& memory, const Layout& l) {
  memory.word(kInterpreter + l.threads, kThread);
  memory.word(kThread + l.threadInterpreter, kInterpreter);
  memory.word(kThread + l.threadPthread, kPthread);
  if (l.threadNative != 0) memory.word(kThread + l.threadNative, kTid);
  const std::uint32_t innermost = l.heapFrames() ? kGenerator : kShim;
  memory.word(kThread + l.frame, l.viaCframe ? kCframe : innermost);
  if (l.viaCframe) memory.word(kCframe + l.cframeFrame, innermost);
  if (l.chunk == 0) return;
  memory.word(kThread + l.chunk, kChunk);
  memory.word(kThread + l.chunk + 8, kFrame + l.frameBytes);
  memory.word(kChunk + 8, 256);
  memory.word(kChunk + 16, 12);
}

// All but what is at the runtime's begin from 3.13 on.
Memory processOf(const Layout& l) {
  Memory memory;
  memory.put<std::uint32_t>(kPthread + 720, kTid);
  memory.word(l.interpreters, kInterpreter);
  const bool inRuntime = l.gilAt == Layout::GilAt::kRuntime;
  const std::uint32_t gil = inRuntime ? l.gil : kGil;
  if (!inRuntime) memory.word(kInterpreter + l.gil, kGil);
  memory.word(gil + l.gilHolder, kThread), memory.put<std::int32_t>(gil + l.gilLocked, 1);
  putThread(memory, l);
  putFrame(memory, l, kFrame, 0, 0);
  putFrame(memory, l, kGenerator, kFrame, 1);
  if (!l.heapFrames()) putFrame(memory, l, kShim, kGenerator, l.minor() >= 12 ? 3 : 0);
  putCode(memory, l);
  return memory;
}

// The groups of _Py_DebugOffsets, with offsets small enough for the seed's memory. Of fields that
// are not read only the room counts.
std::vector<std::uint64_t> debugOffsets(unsigned minor, bool freeThreaded) {
  const std::uint64_t x = 0, head = freeThreaded ? 16 : 0;  // PyObject is larger by that
  std::vector<std::uint64_t> w = {0x1000, x, 1016};         // runtime
  const auto add = [&](std::vector<std::uint64_t> group) {
    w.insert(w.end(), group.begin(), group.end());
  };
  if (minor == 13)
    add({0x400, x, 8, 16, 32, x, x, x, 24, 128, x, 144, 136});
  else
    add({0x400, x, 8, 16, x, 32, x, x, x, 24, 128, x, 144, 136, x, x});
  add({304, x, 8, 16, 72, 152, 160, 232, x});
  if (minor == 13)
    add({80, 8, 0, 56, x, 70});
  else
    add({96, 8, 0, 56, x, 78, x, freeThreaded ? 72u : 0u});
  const std::uint64_t code = 200 + head;
  add({code, 112, 120, 128, 136, 68, x, x, x, code});
  if (minor == 14) add({freeThreaded ? 192u : 0u});
  add({16 + head, 8 + head});
  add({x, x, x, x});
  add({x, x, x});
  add({x, x, x});
  if (minor == 14) add({x, x, x, x});
  add({x, x, x});
  add({x, x});
  add({x, x, x});
  add({x, 16 + head, 32 + head});
  add({x, 32 + head, 16 + head, 40 + head});
  add({x, 8});
  return w;
}

std::string headOf(unsigned minor, bool freeThreaded) {
  std::string head = "xdebugpy";
  std::vector<std::uint64_t> words = {0x03000000u | minor << 16, freeThreaded ? 1u : 0u};
  for (const std::uint64_t word : debugOffsets(minor, freeThreaded)) words.push_back(word);
  head.append(reinterpret_cast<const char*>(words.data()), words.size() * 8);
  return head;
}

void spit(const char* target, const std::string& name, const std::string& bytes) {
  const char* corpus = std::getenv("STALLPROF_CORPUS");
  REQUIRE(corpus != nullptr);
  stallprof::testing::spit(std::string(corpus) + "/" + target + "/" + name, bytes);
}

// The seed is worth something: it shows the stack it was made for.
void check(const std::string& bytes, unsigned minor) {
  testing::InputMemory memory({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  Runtime runtime;
  runtime.minor = minor;
  testing::Kept kept;
  const auto sample = testing::sampleOnce(
      runtime, memory, [](std::uint32_t tid) { return tid == kTid; }, kept);
  CHECK(sample.wrong.empty());
  REQUIRE(sample.stacks.size() == 1);
  REQUIRE(sample.stacks[0].frames.size() >= 2);
  CHECK(sample.stacks[0].frames[0].function == "work");
  CHECK(sample.stacks[0].frames[0].line >= 7);
  CHECK(sample.stacks[0].holdsGil);
}

TEST_CASE("write the seeds of Python's memory") {
  for (unsigned minor = 8; minor <= 12; ++minor) {
    INFO(minor);
    const std::string bytes = processOf(*layoutOf(minor)).bytes();
    check(bytes, minor);
    spit("python_stack", "3." + std::to_string(minor),
         std::string(1, static_cast<char>(minor - 8)) + std::string(3, '\0') + bytes);
  }
  for (const unsigned minor : {13u, 14u})
    for (const bool freeThreaded : {false, true}) {
      INFO(minor << freeThreaded);
      const std::string head = headOf(minor, freeThreaded);
      REQUIRE(head.size() < 1016);
      std::string begin = head + std::string(kDebugOffsetsBytes - head.size(), '\0');
      const auto layout = layoutFromDebugOffsets(
          {reinterpret_cast<const std::uint8_t*>(begin.data()), begin.size()});
      REQUIRE(layout.has_value());
      std::string bytes = processOf(*layout).bytes();
      bytes.replace(0, head.size(), head);
      check(bytes, minor);
      const std::string name = "3." + std::to_string(minor) + (freeThreaded ? "t" : "");
      spit("python_stack", name, std::string("\5\0\0\0", 4) + bytes);
      spit("layout", name, begin);
    }
}

TEST_CASE("write the seeds of the line tables") {
  const std::string line("\12\0\0\0\5\0", 6);
  spit("line_table", "lnotab", std::string(1, 0) + line + std::string("\0\1\12\5\10\xfd", 6));
  spit("line_table", "linetable", std::string(1, 1) + line + std::string("\10\1\4\x80\6\xfe", 6));
  spit("line_table", "locations",
       std::string(1, 2) + line + std::string("\x99\x12\xd8\4\11\xf8\xea\13\xf7\x68\1\0\0\0", 14));
}

}  // namespace
}  // namespace stallprof::python
