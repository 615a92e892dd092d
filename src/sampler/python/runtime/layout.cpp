// SPDX-License-Identifier: MIT
#include "sampler/python/runtime/layout.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "sampler/python/runtime/remote_memory.h"

// Every number of layoutOf was printed by a program compiled against the internal headers of that
// version (Include/internal/pycore_*.h of 3.8.18, 3.9.18, 3.10.13, 3.11.2, 3.11.7, 3.12.1, 3.13.0;
// offsetof on x86-64 Linux), and read back from living interpreters.
namespace stallprof::python {
namespace {

Layout upTo10(unsigned minor) {
  Layout l;
  l.version = 0x03000000u | minor << 16;
  l.lines = minor <= 9 ? LineFormat::kLnotab : LineFormat::kLinetable;
  l.interpreters = 32;
  l.interpreterNext = 0;
  l.threads = 8;
  l.collecting = minor == 8 ? 544 : 816;
  l.collectingInRuntime = minor == 8;
  l.gil = minor == 8 ? 1152 : 352;
  l.threadBytes = 184;
  l.threadPthread = 176;
  l.frame = 24;
  l.frameBytes = 112;
  l.back = 24;
  l.code = 32;
  l.instruction = minor <= 9 ? 104 : 96;
  l.generator = l.instruction - 8;
  l.codeBytes = 128;
  l.fileName = 104;
  l.name = 112;
  l.firstLine = 40;
  l.lineTable = 120;
  return l;
}

Layout v11() {
  Layout l;
  l.version = 0x030b0000u;
  l.interpreters = 40;
  l.interpreterNext = 0;
  l.threads = 16;
  l.collecting = 848;
  l.gil = 360;
  l.threadBytes = 312;
  l.threadPthread = 152;
  l.threadNative = 160;
  l.frame = 56;
  l.viaCframe = true;
  l.cframeFrame = 8;
  l.chunk = 296;
  l.frameBytes = 72;
  l.back = 48;
  l.code = 32;
  l.instruction = 56;
  l.owner = 69;
  l.codeBytes = 184;
  l.fileName = 112;
  l.name = 120;
  l.qualifiedName = 128;
  l.firstLine = 72;
  l.lineTable = 136;
  l.codeUnits = 184;
  return l;
}

Layout v12() {
  Layout l = v11();
  l.version = 0x030c0000u;
  l.threads = 72;
  l.collecting = 312;
  l.gil = 384;
  l.gilAt = Layout::GilAt::kPointer;
  l.threadBytes = 248;
  l.threadPthread = 136;
  l.threadNative = 144;
  l.cframeFrame = 0;
  l.chunk = 232;
  l.back = 8;
  l.code = 0;
  l.owner = 70;
  l.firstLine = 68;
  l.codeUnits = 192;
  l.codeBytes = 192;
  l.asciiData = 40;
  l.compactData = 56;
  return l;
}

Layout v13() {
  Layout l = v12();
  l.version = 0x030d0000u;
  l.interpreters = 632;
  l.interpreterNext = 7264;
  l.threads = 7344;
  l.collecting = 7600;
  l.gil = 16;
  l.threadPthread = 152;
  l.threadNative = 160;
  l.frame = 72;
  l.viaCframe = false;
  l.codeUnits = 200;
  l.codeBytes = 200;
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
  if (minor >= 8 && minor <= 10) return upTo10(minor);
  if (minor == 11) return v11();
  if (minor == 12) return v12();
  if (minor == 13) return v13();
  return std::nullopt;
}

bool hasDebugOffsets(std::span<const std::uint8_t> runtime) {
  return runtime.size() >= 24 && std::memcmp(runtime.data(), kCookie, 8) == 0 &&
         valueAt<std::uint64_t>(runtime, 8) >> 16 >= 0x030d &&
         valueAt<std::uint64_t>(runtime, 8) >> 24 == 3;
}

std::optional<Layout> layoutFromDebugOffsets(std::span<const std::uint8_t> runtime) {
  if (!hasDebugOffsets(runtime)) return std::nullopt;
  Layout l = v13();
  l.version = valueAt<std::uint32_t>(runtime, 8);
  l.freeThreaded = valueAt<std::uint64_t>(runtime, 16) != 0;
  if (l.minor() != 13 && l.minor() != 14) return std::nullopt;
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
