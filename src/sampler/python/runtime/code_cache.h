// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "sampler/python/runtime/layout.h"
#include "sampler/python/runtime/remote_memory.h"
#include "sampler/python/runtime/stack_reader.h"

namespace stallprof::python {

// Where in a function an instruction is.
struct Place {
  std::uint32_t line = 0;  // 0: not known
  bool iterates = false;   // it gets the next element of a `for` statement's iterator
};

// What a code object says of a function, and the places of the instructions that were asked for.
struct Code {
  std::string function, file;
  StringId functionId, fileId;  // once interned by the owner
  std::uint32_t firstLine = 0;
  std::vector<std::uint8_t> lineTable;
  std::int64_t units = 0;  // how many code units there are, from 3.11; 0: not known
  Address nameAt = 0, fileAt = 0, tableAt = 0;  // what it is recognised by
  Address instructionsAt = 0;                   // 0: not known
  Nanos checkedAt{}, askedAt{};
  std::unordered_map<std::int64_t, Place> places;  // by index
  // Where threads' own copies of the instructions begin, by RawFrame::copy, when last read.
  std::unordered_map<std::uint32_t, Address> copies;
};

// Code objects of one process image, by address. One may be freed and another take its place, so
// each is compared with the process again after `kTrusted`.
class CodeCache {
 public:
  static constexpr Nanos kTrusted{1'000'000'000};
  // Most programs run some thousand functions; a thousand bytes each.
  static constexpr std::size_t kMax = 32768;

  // `codeType`: what a code object's type has to be; 0: learnt from the first that resembles one.
  CodeCache(const Layout& layout, Address codeType) : layout_(layout), codeType_(codeType) {}

  // Nothing: there is no code object at that address, or it could not be read.
  [[nodiscard]] Code* at(Address address, Nanos now, RemoteMemory& memory);
  // Compares the code of these frames with the process, as far as that is due, in one call: `at`
  // at the same instant then needs none for what is as it was.
  void compare(std::span<const RawFrame> frames, Nanos now, RemoteMemory& memory);
  // Where a frame of that code is. Its instruction is a byte offset up to 3.9, a code unit in 3.10,
  // an address after.
  [[nodiscard]] Place placeOf(Code& code, const RawFrame& frame, RemoteMemory& memory) const;

 private:
  [[nodiscard]] static bool trusted(const Code& code, Nanos now);
  [[nodiscard]] bool same(const Code& code, std::span<const std::uint8_t> bytes) const;
  [[nodiscard]] bool read(Code& code, const std::vector<std::uint8_t>& bytes, RemoteMemory& memory);
  [[nodiscard]] bool readParts(Code& code, Address called, RemoteMemory& memory);
  [[nodiscard]] std::optional<std::int64_t> unitOf(Code& code, const RawFrame& frame,
                                                   RemoteMemory& memory) const;
  [[nodiscard]] bool iterates(Address instruction, RemoteMemory& memory) const;
  [[nodiscard]] Address copyOf(const RawFrame& frame, RemoteMemory& memory) const;

  const Layout& layout_;
  Address codeType_;
  std::unordered_map<Address, Code> codes_;
  std::vector<std::uint8_t> bytes_;
  std::vector<std::pair<const Address, Code>*> due_;  // scratch, as are these
  std::vector<RemoteSpan> spans_;
};

}  // namespace stallprof::python
