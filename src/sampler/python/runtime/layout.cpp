// SPDX-License-Identifier: MIT
#include "sampler/python/runtime/layout.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "sampler/python/runtime/remote_memory.h"

// Every number of kOffsets was printed by a program compiled against the internal headers of that
// version (Include/internal/pycore_*.h of 3.8.18, 3.9.18, 3.10.13, 3.11.2, 3.11.7, 3.12.1, 3.13.0;
// offsetof on x86-64 Linux), and read back from living interpreters.
namespace stallprof::python {
namespace {

constexpr unsigned kFirstMinor = 8, kLastMinor = 13;

struct FieldOffset {
  std::uint32_t Layout::*field;
  std::array<std::uint32_t, kLastMinor - kFirstMinor + 1> at;  // in 3.8, 3.9, ... 3.13
};
constexpr FieldOffset kOffsets[] = {
    {&Layout::interpreters, {32, 32, 32, 40, 40, 632}},
    {&Layout::interpreterNext, {0, 0, 0, 0, 0, 7264}},
    {&Layout::threads, {8, 8, 8, 16, 72, 7344}},
    {&Layout::collecting, {544, 816, 816, 848, 312, 7600}},
    {&Layout::gil, {1152, 352, 352, 360, 384, 16}},
    {&Layout::threadBytes, {184, 184, 184, 312, 248, 248}},
    {&Layout::threadPthread, {176, 176, 176, 152, 136, 152}},
    {&Layout::threadNative, {0, 0, 0, 160, 144, 160}},
    {&Layout::frame, {24, 24, 24, 56, 56, 72}},
    {&Layout::cframeFrame, {0, 0, 0, 8, 0, 0}},
    {&Layout::chunk, {0, 0, 0, 296, 232, 232}},
    {&Layout::frameBytes, {112, 112, 112, 72, 72, 72}},
    {&Layout::back, {24, 24, 24, 48, 8, 8}},
    {&Layout::code, {32, 32, 32, 32, 0, 0}},
    {&Layout::instruction, {104, 104, 96, 56, 56, 56}},
    {&Layout::owner, {0, 0, 0, 69, 70, 70}},
    {&Layout::generator, {96, 96, 88, 0, 0, 0}},
    {&Layout::codeBytes, {128, 128, 128, 184, 192, 200}},
    {&Layout::fileName, {104, 104, 104, 112, 112, 112}},
    {&Layout::name, {112, 112, 112, 120, 120, 120}},
    {&Layout::qualifiedName, {0, 0, 0, 128, 128, 128}},
    {&Layout::firstLine, {40, 40, 40, 72, 68, 68}},
    {&Layout::lineTable, {120, 120, 120, 136, 136, 136}},
    {&Layout::instructions, {48, 48, 48, 0, 0, 0}},
    {&Layout::codeUnits, {0, 0, 0, 184, 192, 200}},
    {&Layout::asciiData, {48, 48, 48, 48, 40, 40}},
    {&Layout::compactData, {72, 72, 72, 72, 56, 56}},
};

// Lib/opcode.py, from 3.13 on Include/opcode_ids.h: that of a release does not change.
void takeOpcodes(Layout& l) {
  l.forIter = l.minor() <= 12 ? 93 : l.minor() == 13 ? 72 : 70;
  l.firstForIter = l.minor() == 12 ? 62 : l.minor() == 13 ? 187 : l.minor() == 14 ? 171 : 0;
  l.forIterGenerator = l.minor() == 12 ? 65 : l.firstForIter;
}

Layout releaseOf(unsigned minor) {
  Layout l;
  for (const FieldOffset& offset : kOffsets) l.*offset.field = offset.at[minor - kFirstMinor];
  l.version = 0x03000000u | minor << 16;
  takeOpcodes(l);
  l.lines = minor <= 9    ? LineFormat::kLnotab
            : minor == 10 ? LineFormat::kLinetable
                          : LineFormat::kLocations;
  l.collectingInRuntime = minor == 8;
  l.gilAt = minor <= 11 ? Layout::GilAt::kRuntime : Layout::GilAt::kPointer;
  l.viaCframe = minor == 11 || minor == 12;
  return l;
}

// ---- _Py_DebugOffsets -----------------------------------------------------------------------

constexpr char kCookie[] = "xdebugpy";

// The groups of Include/internal/pycore_debug_offsets.h we use, in its order, and how many fields
// each has in a minor version: 3.13 and 3.14 as in their releases' headers.
enum Group {
  kRuntime,
  kInterpreter,
  kThread,
  kFrame,
  kCode,
  kObject,
  kType,
  kTuple,
  kList,
  kSet,
  kDict,
  kFloat,
  kLong,
  kBytes,
  kUnicode,
  kGc,
  kGroups
};
using Sizes = std::array<std::uint8_t, kGroups>;
constexpr Sizes kSizes13 = {3, 13, 9, 6, 10, 2, 4, 3, 3, 0, 3, 2, 3, 3, 4, 2};
constexpr Sizes kSizes14 = {3, 16, 9, 8, 11, 2, 4, 3, 3, 4, 3, 2, 3, 3, 4, 2};

class Offsets {
 public:
  Offsets(std::span<const std::uint8_t> bytes, const Sizes& sizes) : bytes_(bytes), sizes_(sizes) {}
  // Field `index` of a group; its first field is its size.
  std::uint32_t operator()(Group group, unsigned index) {
    std::size_t word = 3;  // cookie, version, free_threaded
    for (int g = 0; g < group; ++g) word += sizes_[static_cast<std::size_t>(g)];
    const auto value = valueAt<std::uint64_t>(bytes_, (word + index) * 8);
    credible_ = credible_ && index < sizes_[group] && value < (1u << 20);
    return credible_ ? static_cast<std::uint32_t>(value) : 0;
  }
  // `offset` lies in a struct of `size`, with room for a pointer.
  void within(std::uint32_t offset, std::uint32_t size) {
    credible_ = credible_ && size >= 8 && offset <= size - 8;
  }
  [[nodiscard]] bool credible() const { return credible_; }

 private:
  std::span<const std::uint8_t> bytes_;
  const Sizes& sizes_;
  bool credible_ = true;
};

std::uint32_t past(std::initializer_list<std::uint32_t> offsets) { return std::max(offsets) + 8; }

void takeThread(Offsets& of, Layout& l) {
  const std::uint32_t size = of(kThread, 0);
  l.threadNext = of(kThread, 2);
  l.threadInterpreter = of(kThread, 3);
  l.frame = of(kThread, 4);
  l.threadPthread = of(kThread, 5);
  l.threadNative = of(kThread, 6);
  l.chunk = of(kThread, 7);
  l.threadBytes = past(
      {l.threadNext, l.threadInterpreter, l.frame, l.threadPthread, l.threadNative, l.chunk + 8});
  of.within(l.threadBytes - 8, size);
}

void takeFrame(Offsets& of, Layout& l) {
  const std::uint32_t size = of(kFrame, 0);
  l.back = of(kFrame, 1);
  l.code = of(kFrame, 2);
  l.instruction = of(kFrame, 3);
  l.owner = of(kFrame, 5);
  if (l.freeThreaded && l.minor() >= 14) l.copyIndex = of(kFrame, 7);
  l.frameBytes = std::min(past({l.back, l.code, l.instruction, l.owner, l.copyIndex}), size);
  for (const std::uint32_t offset : {l.back, l.code, l.instruction}) of.within(offset, size);
  of.within(l.owner & ~7u, size);
  of.within(l.copyIndex & ~7u, size);
}

void takeCode(Offsets& of, Layout& l) {
  const std::uint32_t size = of(kCode, 0);
  l.fileName = of(kCode, 1);
  l.name = of(kCode, 2);
  l.qualifiedName = of(kCode, 3);
  l.lineTable = of(kCode, 4);
  l.firstLine = of(kCode, 5);
  l.codeUnits = of(kCode, 9);
  if (l.freeThreaded && l.minor() >= 14) l.copies = of(kCode, 10);
  l.codeBytes = past({l.fileName, l.name, l.qualifiedName, l.lineTable, l.firstLine});
  for (const std::uint32_t offset :
       {l.fileName, l.name, l.qualifiedName, l.lineTable, l.firstLine, l.copies})
    of.within(offset, size);
  of.within(l.codeUnits - 8, size);
}

void takeObjects(Offsets& of, Layout& l) {
  l.typeOf = of(kObject, 1);
  of.within(l.typeOf, of(kObject, 0));
  l.bytesSize = of(kBytes, 1);
  l.bytesData = of(kBytes, 2);
  l.textState = of(kUnicode, 1);
  l.textLength = of(kUnicode, 2);
  l.asciiData = of(kUnicode, 3);
  l.compactData = l.asciiData + 16;  // PyCompactUnicodeObject: utf8_length and utf8 follow
}

}  // namespace

// Python 3.11 knows THREAD 0, GENERATOR 1, FRAME_OBJECT 2; 3.12 and 3.13 add CSTACK 3, the frame
// a call from C begins with; 3.14 has INTERPRETER 3 and CSTACK 4 (pycore_frame.h, enum
// _frameowner). None of the last run Python.
bool Layout::isShim(std::uint8_t owner_) const { return minor() >= 12 && owner_ >= 3; }
bool Layout::ownerIsKnown(std::uint8_t owner_) const {
  if (heapFrames()) return true;
  return owner_ <= (minor() == 11 ? 2 : minor() <= 13 ? 3 : 4);
}

std::optional<Layout> layoutOf(unsigned minor) {
  if (minor < kFirstMinor || minor > kLastMinor) return std::nullopt;
  return releaseOf(minor);
}

bool hasDebugOffsets(std::span<const std::uint8_t> runtime) {
  return runtime.size() >= 24 && std::memcmp(runtime.data(), kCookie, 8) == 0 &&
         valueAt<std::uint64_t>(runtime, 8) >> 16 >= 0x030d &&
         valueAt<std::uint64_t>(runtime, 8) >> 24 == 3;
}

std::optional<Layout> layoutFromDebugOffsets(std::span<const std::uint8_t> runtime) {
  if (!hasDebugOffsets(runtime)) return std::nullopt;
  Layout l = releaseOf(13);
  l.version = valueAt<std::uint32_t>(runtime, 8);
  l.freeThreaded = valueAt<std::uint64_t>(runtime, 16) != 0;
  if (l.minor() != 13 && l.minor() != 14) return std::nullopt;
  takeOpcodes(l);
  Offsets of(runtime, l.minor() == 13 ? kSizes13 : kSizes14);
  const unsigned added = l.minor() == 13 ? 0 : 1;  // threads_main, before the collector
  l.interpreters = of(kRuntime, 2);
  l.interpreterNext = of(kInterpreter, 2);
  l.threads = of(kInterpreter, 3);
  l.collecting = of(kInterpreter, 4 + added) + of(kGc, 1);
  l.gil = of(kInterpreter, 8 + added);
  const std::uint32_t own = of(kInterpreter, 9 + added);  // the lock inside the interpreter
  l.gilLocked = of(kInterpreter, 11 + added) - own;
  l.gilHolder = of(kInterpreter, 12 + added) - own;
  of.within(l.interpreters, of(kRuntime, 0));
  of.within(l.threads, of(kInterpreter, 0));
  of.within(l.collecting, of(kInterpreter, 0));
  of.within(l.gilLocked, l.gilBytes);
  of.within(l.gilHolder, l.gilBytes);
  takeThread(of, l);
  takeFrame(of, l);
  takeCode(of, l);
  takeObjects(of, l);
  if (!of.credible() || l.codeBytes > 1024 || l.frameBytes > 256 || l.threadBytes > 2048 ||
      l.asciiData > 128 || l.bytesData > 128)
    return std::nullopt;
  return l;
}

std::string versionText(std::uint32_t version) {
  return std::to_string(version >> 24) + "." + std::to_string((version >> 16) & 0xff) + "." +
         std::to_string((version >> 8) & 0xff);
}

}  // namespace stallprof::python
