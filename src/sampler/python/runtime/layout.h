// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace stallprof::python {

// How a code object encodes its lines.
enum class LineFormat : std::uint8_t {
  kLnotab,     // up to 3.9: Objects/lnotab_notes.txt
  kLinetable,  // 3.10: PEP 626
  kLocations,  // from 3.11: Objects/locations.md, in 3.13 InternalDocs/code_objects.md
};

// Where things lie in a CPython of one minor version: offsets in bytes, x86-64 Linux. 0 where a
// version has no such field (no field we use but the noted ones lies at 0).
struct Layout {
  std::uint32_t version = 0;  // PY_VERSION_HEX, at least its upper half
  bool freeThreaded = false;
  LineFormat lines = LineFormat::kLocations;

  // _PyRuntimeState and PyInterpreterState
  std::uint32_t interpreters = 0;                  // runtime: interpreters.head
  std::uint32_t interpreterNext = 0, threads = 0;  // interpreter; next may be 0
  std::uint32_t collecting = 0;                    // gc.collecting, an int
  bool collectingInRuntime = false;                // 3.8
  std::uint32_t gil = 0;                           // struct _gil_runtime_state, see gilAt
  enum class GilAt : std::uint8_t { kRuntime, kPointer } gilAt = GilAt::kRuntime;
  std::uint32_t gilHolder = 8, gilLocked = 16;  // last_holder, locked (an int)
  // interval 8, last_holder 8, locked 4+4, switch_number 8, two conditions of 48, two mutexes of
  // 40 (glibc): a thread that waits for the lock sleeps on an address in here.
  std::uint32_t gilBytes = 208;

  // PyThreadState
  std::uint32_t threadBytes = 0;  // of it that we read
  std::uint32_t threadNext = 8, threadInterpreter = 16, threadPthread = 0, threadNative = 0;
  std::uint32_t frame = 0;        // `frame`, `cframe` or `current_frame`
  bool viaCframe = false;         // 3.11 and 3.12
  std::uint32_t cframeFrame = 0;  // in struct _PyCFrame; may be 0
  std::uint32_t chunk = 0;        // datastack_chunk; datastack_top follows it

  // PyFrameObject up to 3.10, _PyInterpreterFrame after
  std::uint32_t frameBytes = 0;                       // of it that we read
  std::uint32_t back = 0, code = 0, instruction = 0;  // code may be 0
  std::uint32_t owner = 0;                            // a char, from 3.11 on
  std::uint32_t generator = 0;                        // f_gen, before it
  std::uint32_t copyIndex = 0;  // 3.14, free-threaded: which copy of the instructions, an int

  // PyCodeObject
  std::uint32_t codeBytes = 0;  // of it that we read
  std::uint32_t fileName = 0, name = 0, qualifiedName = 0, firstLine = 0, lineTable = 0;
  std::uint32_t instructions = 0;  // co_code, up to 3.10: a bytes object
  std::uint32_t codeUnits = 0;     // co_code_adaptive: the instructions, inside the object
  std::uint32_t copies = 0;  // co_tlbc, 3.14, free-threaded: how many copies, then where each is
  std::uint32_t typeOf = 8;  // PyObject.ob_type

  // PyBytesObject and PyUnicodeObject (compact)
  std::uint32_t bytesSize = 16, bytesData = 32;
  std::uint32_t textLength = 16, textState = 32, asciiData = 48, compactData = 72;

  // The instruction FOR_ITER, and where it is specialised (3.12 on): for a generator, and from the
  // first of kForIters on.
  std::uint8_t forIter = 0, forIterGenerator = 0, firstForIter = 0;
  static constexpr unsigned kForIters = 4;
  [[nodiscard]] bool isForIter(unsigned opcode) const {
    return opcode == forIter || (firstForIter != 0 && opcode - firstForIter < kForIters);
  }

  [[nodiscard]] unsigned minor() const { return (version >> 16) & 0xff; }
  [[nodiscard]] bool heapFrames() const { return minor() <= 10; }
  // What a frame's owner says of it, by version.
  [[nodiscard]] bool isShim(std::uint8_t owner_) const;
  [[nodiscard]] bool ownerIsKnown(std::uint8_t owner_) const;
};

// The layout of a release build of 3.`minor`, 3.8 to 3.13; nothing for any other.
[[nodiscard]] std::optional<Layout> layoutOf(unsigned minor);

// The layout that `_Py_DebugOffsets` reports (from 3.13, the first bytes of _PyRuntime). Nothing
// when it is not that, is of a version we have no list of fields for, or says offsets that cannot
// be. kDebugOffsetsBytes are enough for every version.
inline constexpr std::size_t kDebugOffsetsBytes = 1024;
[[nodiscard]] bool hasDebugOffsets(std::span<const std::uint8_t> runtime);
[[nodiscard]] std::optional<Layout> layoutFromDebugOffsets(std::span<const std::uint8_t> runtime);

// "3.11.2" of PY_VERSION_HEX.
[[nodiscard]] std::string versionText(std::uint32_t version);

}  // namespace stallprof::python
