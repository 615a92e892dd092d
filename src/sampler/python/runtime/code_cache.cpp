// SPDX-License-Identifier: MIT
#include "sampler/python/runtime/code_cache.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "sampler/python/runtime/line_table.h"

namespace stallprof::python {
namespace {

constexpr std::size_t kNameLimit = 512, kFileLimit = 4096;
constexpr std::uint64_t kTableLimit = 256u << 10;  // tables of 42 KB are known
constexpr std::size_t kPlacesKept = 4096;          // distinct instructions of one function
constexpr std::size_t kMaxCopies = 8192;           // a thread each, as many as are read

void putUtf8(std::uint32_t c, std::string& out) {
  if (c > 0x10ffff) c = 0xfffd;
  if (c < 0x80) {
    out.push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    out.push_back(static_cast<char>(0xc0 | c >> 6));
    out.push_back(static_cast<char>(0x80 | (c & 63)));
  } else if (c < 0x10000) {
    out.push_back(static_cast<char>(0xe0 | c >> 12));
    out.push_back(static_cast<char>(0x80 | ((c >> 6) & 63)));
    out.push_back(static_cast<char>(0x80 | (c & 63)));
  } else {
    out.push_back(static_cast<char>(0xf0 | c >> 18));
    out.push_back(static_cast<char>(0x80 | ((c >> 12) & 63)));
    out.push_back(static_cast<char>(0x80 | ((c >> 6) & 63)));
    out.push_back(static_cast<char>(0x80 | (c & 63)));
  }
}

std::uint32_t unitAt(const std::vector<std::uint8_t>& bytes, std::size_t index, unsigned kind) {
  std::uint32_t c = 0;
  for (unsigned i = 0; i < kind; ++i) c |= std::uint32_t{bytes[index * kind + i]} << (8 * i);
  return c;
}

// Include/cpython/unicodeobject.h, the bits of `state`: interned 2, kind 3, compact 1, ascii 1. In
// free-threaded builds `interned` has a byte of its own from 3.14 on (3.13t: as before).
struct TextState {
  unsigned kind;
  bool compact, ascii;
};
TextState stateOf(std::uint32_t bits, const Layout& layout) {
  const unsigned shift = layout.freeThreaded && layout.minor() >= 14 ? 8 : 2;
  return {(bits >> shift) & 7, ((bits >> (shift + 3)) & 1) != 0, ((bits >> (shift + 4)) & 1) != 0};
}

// The data of a str: its header says where they are and how long.
struct TextData {
  Address at = 0;
  std::size_t bytes = 0, characters = 0;
  unsigned kind = 1;  // bytes a character
};

// Nothing for a str that cannot name things: not compact, or of no known kind.
std::optional<TextData> textData(Address at, std::uint64_t length, std::uint32_t bits,
                                 const Layout& layout, std::size_t limit) {
  const TextState state = stateOf(bits, layout);
  const bool kindKnown = state.kind == 1 || state.kind == 2 || state.kind == 4;
  if (!state.compact || !kindKnown || (state.ascii && state.kind != 1) || length > (1u << 24))
    return std::nullopt;
  const std::size_t count = std::min<std::size_t>(length, limit);
  return TextData{at + (state.ascii ? layout.asciiData : layout.compactData), count * state.kind,
                  count, state.kind};
}

std::string textOf(const TextData& data, const std::vector<std::uint8_t>& bytes) {
  std::string text;
  for (std::size_t i = 0; i < data.characters; ++i) putUtf8(unitAt(bytes, i, data.kind), text);
  return text;
}

// A module's code is freed once it has been imported, and the next one's may take its place.
constexpr std::string_view kModule = "<module>";

}  // namespace

bool CodeCache::trusted(const Code& code, Nanos now) {
  return code.checkedAt == now || (now - code.checkedAt < kTrusted && code.function != kModule);
}

void CodeCache::compare(std::span<const RawFrame> frames, Nanos now, RemoteMemory& memory) {
  due_.clear();
  for (const RawFrame& frame : frames) {
    const auto known = codes_.find(frame.code);
    if (known == codes_.end() || trusted(known->second, now)) continue;
    if (std::exchange(known->second.askedAt, now) != now) due_.push_back(&*known);
  }
  if (due_.size() < 2) return;
  due_.resize(std::min(due_.size(), RemoteMemory::kMaxSpans));
  bytes_.resize(due_.size() * layout_.codeBytes);
  spans_.clear();
  for (std::size_t i = 0; i < due_.size(); ++i)
    spans_.push_back({due_[i]->first, bytes_.data() + i * layout_.codeBytes, layout_.codeBytes});
  const std::size_t read = memory.read(spans_);
  for (std::size_t i = 0; i < read; ++i) {
    Code& code = due_[i]->second;
    if (!same(code, std::span(bytes_).subspan(i * layout_.codeBytes, layout_.codeBytes))) continue;
    code.checkedAt = now;
    code.copies.clear();
  }
}

Code* CodeCache::at(Address address, Nanos now, RemoteMemory& memory) {
  const auto known = codes_.find(address);
  if (known != codes_.end() && trusted(known->second, now)) return &known->second;
  bytes_.resize(layout_.codeBytes);
  if (address == 0 || !memory.readBytes(address, bytes_.data(), bytes_.size())) return nullptr;
  if (known != codes_.end() && same(known->second, bytes_)) {
    known->second.checkedAt = now;
    known->second.copies.clear();
    return &known->second;
  }
  Code fresh;
  if (!read(fresh, bytes_, memory)) return nullptr;
  fresh.checkedAt = now;
  if (codes_.size() >= kMax) codes_.clear();
  return &(codes_[address] = std::move(fresh));
}

bool CodeCache::same(const Code& code, std::span<const std::uint8_t> bytes) const {
  return valueAt<Address>(bytes, layout_.name) == code.nameAt &&
         valueAt<Address>(bytes, layout_.fileName) == code.fileAt &&
         valueAt<Address>(bytes, layout_.lineTable) == code.tableAt &&
         valueAt<std::uint32_t>(bytes, layout_.firstLine) == code.firstLine;
}

bool CodeCache::read(Code& code, const std::vector<std::uint8_t>& bytes, RemoteMemory& memory) {
  const auto type = valueAt<Address>(bytes, layout_.typeOf);
  if (type == 0 || (codeType_ != 0 && type != codeType_)) return false;
  code.nameAt = valueAt<Address>(bytes, layout_.name);
  code.fileAt = valueAt<Address>(bytes, layout_.fileName);
  code.tableAt = valueAt<Address>(bytes, layout_.lineTable);
  code.firstLine = valueAt<std::uint32_t>(bytes, layout_.firstLine);
  if (layout_.instructions != 0)
    code.instructionsAt = valueAt<Address>(bytes, layout_.instructions);
  // PyVarObject: how many instructions follow. ob_size lies behind ob_type.
  if (layout_.codeUnits != 0) code.units = valueAt<std::int64_t>(bytes, layout_.typeOf + 8);
  const Address called =
      layout_.qualifiedName == 0 ? code.nameAt : valueAt<Address>(bytes, layout_.qualifiedName);
  if (!readParts(code, called, memory)) return false;
  codeType_ = type;
  return true;
}

// Function, file and line table in two calls: the heads of all, then the data of all.
bool CodeCache::readParts(Code& code, Address called, RemoteMemory& memory) {
  std::uint64_t length[2] = {0, 0}, tableBytes = 0;
  std::uint32_t bits[2] = {0, 0};
  const RemoteSpan heads[] = {{called + layout_.textLength, &length[0], sizeof length[0]},
                              {called + layout_.textState, &bits[0], sizeof bits[0]},
                              {code.fileAt + layout_.textLength, &length[1], sizeof length[1]},
                              {code.fileAt + layout_.textState, &bits[1], sizeof bits[1]},
                              {code.tableAt + layout_.bytesSize, &tableBytes, sizeof tableBytes}};
  if (memory.read(heads) != std::size(heads) || tableBytes > kTableLimit) return false;
  const auto function = textData(called, length[0], bits[0], layout_, kNameLimit);
  const auto file = textData(code.fileAt, length[1], bits[1], layout_, kFileLimit);
  if (!function || !file || function->characters == 0) return false;
  std::vector<std::uint8_t> functionBytes(function->bytes), fileBytes(file->bytes);
  code.lineTable.resize(tableBytes);
  const RemoteSpan data[] = {{function->at, functionBytes.data(), functionBytes.size()},
                             {file->at, fileBytes.data(), fileBytes.size()},
                             {code.tableAt + layout_.bytesData, code.lineTable.data(), tableBytes}};
  if (memory.read(data) != std::size(data)) return false;
  code.function = textOf(*function, functionBytes);
  code.file = textOf(*file, fileBytes);
  return true;
}

// Where the copy begins that the frame's thread runs; 0: unknown. The list of copies is
// made again where more threads come than it has room for.
Address CodeCache::copyOf(const RawFrame& frame, RemoteMemory& memory) const {
  const auto list = memory.get<Address>(frame.code + layout_.copies).value_or(0);
  if (list == 0 || frame.copy >= kMaxCopies) return 0;
  const auto count = memory.get<std::int64_t>(list);
  if (!count || static_cast<std::int64_t>(frame.copy) >= *count) return 0;
  return memory.get<Address>(list + 8 + frame.copy * std::uint64_t{8}).value_or(0);
}

// The code unit an address is in: -1 for the one before the first, where 3.11 and 3.12 start.
std::optional<std::int64_t> CodeCache::unitOf(Code& code, const RawFrame& frame,
                                              RemoteMemory& memory) const {
  const auto in = [&](Address begin) -> std::optional<std::int64_t> {
    const auto bytes = static_cast<std::int64_t>(frame.instruction - begin);
    if (begin == 0 || bytes < -2 || bytes / 2 >= code.units) return std::nullopt;
    return bytes < 0 ? -1 : bytes / 2;
  };
  if (frame.copy == 0) return in(frame.code + layout_.codeUnits);
  // A copy is freed when its thread is gone, and another made for the next thread of its number.
  if (const auto known = code.copies.find(frame.copy); known != code.copies.end())
    if (const auto unit = in(known->second)) return unit;
  if (code.copies.size() >= kMaxCopies) code.copies.clear();
  return in(code.copies[frame.copy] = copyOf(frame, memory));
}

// By the instruction that runs: whoever is called by it is inside the iterator, too. 3.12 resumes a
// generator without a call from C, and points at what follows the instruction meanwhile: its
// counter, as it is set where an instruction is specialised (pycore_code.h, adaptive_counter_bits).
bool CodeCache::iterates(Address instruction, RemoteMemory& memory) const {
  constexpr std::uint16_t kSpecialised = 52u << 4;
  const auto at = memory.get<std::uint16_t>(instruction);
  if (!at) return false;
  if (layout_.minor() != 12 || *at != kSpecialised) return layout_.isForIter(*at & 0xff);
  const auto before = memory.get<std::uint8_t>(instruction - 2);
  return before && *before == layout_.forIterGenerator;
}

Place CodeCache::placeOf(Code& code, const RawFrame& frame, RemoteMemory& memory) const {
  std::int64_t index = 0;
  Address instruction = frame.instruction;
  if (layout_.heapFrames()) {
    index = static_cast<std::int32_t>(frame.instruction);
    if (layout_.minor() == 10 && index > 0) index *= 2;
    instruction = code.instructionsAt + layout_.bytesData + static_cast<Address>(index);
  } else {
    // No line is better than a wrong one.
    const auto unit = unitOf(code, frame, memory);
    if (!unit) return {};
    index = *unit;
  }
  if (index < -1 || index > (1 << 28)) return {};
  const auto known = code.places.find(index);
  if (known != code.places.end()) return known->second;
  if (code.places.size() >= kPlacesKept) code.places.clear();
  return code.places[index] = {python::lineOf(layout_.lines, code.lineTable, code.firstLine, index),
                               index >= 0 && iterates(instruction, memory)};
}

}  // namespace stallprof::python
