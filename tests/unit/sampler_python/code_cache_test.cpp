// SPDX-License-Identifier: MIT
#include "sampler/python/runtime/code_cache.h"

#include <cstring>
#include <string>
#include <vector>

#include "tests/catch.h"

using namespace stallprof;
using namespace stallprof::python;

namespace {

constexpr Nanos ms(long n) { return std::chrono::milliseconds(n); }

// A process of one block of memory, with objects as a CPython lays them out.
class Heap : public RemoteMemory {
 public:
  explicit Heap(unsigned minor = 11) : layout(*layoutOf(minor)) {}
  [[nodiscard]] std::size_t read(std::span<const RemoteSpan> spans) override {
    ++calls;
    std::size_t whole = 0;
    for (const RemoteSpan& span : spans) {
      if (span.address < kBase || span.address - kBase + span.bytes > bytes_.size()) break;
      std::memcpy(span.into, bytes_.data() + (span.address - kBase), span.bytes);
      ++whole;
    }
    return whole;
  }
  template <class T>
  void put(Address at, T value) {
    std::memcpy(bytes_.data() + (at - kBase), &value, sizeof value);
  }
  Address take(std::size_t bytes) {
    const Address at = kBase + bytes_.size();
    bytes_.resize(bytes_.size() + (bytes + 15) / 16 * 16);
    return at;
  }
  Address text(const std::string& value) {
    const Address at = take(layout.asciiData + value.size() + 1);
    put<std::uint64_t>(at + layout.textLength, value.size());
    put<std::uint32_t>(at + layout.textState,
                       1u << 2 | 1u << 5 | 1u << 6);  // kind 1, compact, ascii
    std::memcpy(bytes_.data() + (at + layout.asciiData - kBase), value.data(), value.size());
    return at;
  }
  void name(Address code, const std::string& function) {
    const Address at = text(function);
    put<Address>(code + layout.name, at);
    if (layout.qualifiedName != 0) put<Address>(code + layout.qualifiedName, at);
  }
  Address code(const std::string& function, const std::vector<std::uint8_t>& instructions = {}) {
    const Address at = take(layout.codeBytes + instructions.size()), file = text("a.py"),
                  table = take(layout.bytesData + 16);
    put<Address>(at + layout.typeOf, 0x4000);
    name(at, function);
    put<Address>(at + layout.fileName, file);
    put<Address>(at + layout.lineTable, table);
    put<std::uint32_t>(at + layout.firstLine, 7);
    Address begin = at + layout.codeUnits;
    if (layout.heapFrames()) {
      begin = take(layout.bytesData + instructions.size());
      put<Address>(at + layout.instructions, begin);
      begin += layout.bytesData;
    } else {
      put<std::uint64_t>(at + layout.typeOf + 8, instructions.size() / 2);
    }
    for (std::size_t i = 0; i < instructions.size(); ++i) put(begin + i, instructions[i]);
    return at;
  }
  const Layout layout;
  int calls = 0;

 private:
  static constexpr Address kBase = 0x100000;
  std::vector<std::uint8_t> bytes_;
};

// Frames of these functions, and what the cache calls them at `now`.
struct Stack {
  explicit Stack(const std::vector<std::string>& functions) : cache(heap.layout, 0) {
    for (const std::string& function : functions) frames.push_back({0, heap.code(function), 0, 0});
  }
  std::string names(Nanos now) {
    std::string all;
    for (const RawFrame& frame : frames) {
      const Code* code = cache.at(frame.code, now, heap);
      all += (all.empty() ? "" : " ") + (code == nullptr ? "none" : code->function);
    }
    return all;
  }
  int callsOf(Nanos now) {
    heap.calls = 0;
    cache.compare(frames, now, heap);
    (void)names(now);
    return heap.calls;
  }
  Heap heap;
  CodeCache cache;
  std::vector<RawFrame> frames;
};

}  // namespace

TEST_CASE("code that is due is compared with the process in one call") {
  Stack stack({"<module>", "main", "load", "read"});
  CHECK(stack.names(ms(0)) == "<module> main load read");
  CHECK(stack.callsOf(ms(900)) == 1);  // a module's is due always
  CHECK(stack.callsOf(ms(1100)) == 1);
  CHECK(stack.callsOf(ms(1200)) == 1);
}

TEST_CASE("one that another has replaced is read again, and no other") {
  Stack stack({"main", "load", "read"});
  CHECK(stack.names(ms(0)) == "main load read");
  stack.heap.name(stack.frames[1].code, "save");
  // All in one call; of the one its object again, the heads of its parts and what they hold.
  CHECK(stack.callsOf(ms(1100)) == 1 + 3);
  CHECK(stack.names(ms(1100)) == "main save read");
}

TEST_CASE("recursion is compared once, and what cannot be read is no code") {
  Stack stack({"main", "walk"});
  CHECK(stack.names(ms(0)) == "main walk");
  for (int i = 0; i < 2000; ++i) stack.frames.push_back(stack.frames[1]);
  CHECK(stack.callsOf(ms(1100)) == 1);
  stack.frames.resize(2);
  stack.frames.push_back({0, 0x10, 0, 0});
  CHECK(stack.names(ms(1200)) == "main walk none");
}

TEST_CASE("an instruction that gets an iterator's next element is known, specialised or not") {
  const auto iterates = [](unsigned minor, std::vector<std::uint8_t> code, Address instruction) {
    Heap heap(minor);
    const Address at = heap.code("main", code);
    CodeCache cache(heap.layout, 0);
    Code* main = cache.at(at, ms(0), heap);
    REQUIRE(main != nullptr);
    if (minor > 10) instruction += at + heap.layout.codeUnits;
    return cache.placeOf(*main, {0, at, instruction, 0}, heap).iterates;
  };
  // Two units of something else, FOR_ITER and what follows it.
  CHECK(iterates(8, {1, 0, 1, 0, 93, 4, 1, 0}, 4));  // a byte offset
  CHECK_FALSE(iterates(9, {1, 0, 1, 0, 93, 4, 1, 0}, 6));
  CHECK(iterates(10, {1, 0, 1, 0, 93, 4, 1, 0}, 2));  // a unit
  CHECK(iterates(11, {1, 0, 1, 0, 93, 4, 1, 0}, 4));
  CHECK_FALSE(iterates(11, {1, 0, 1, 0, 62, 4, 1, 0}, 4));
  CHECK(iterates(12, {1, 0, 1, 0, 62, 4, 0x40, 3}, 4));        // of a list
  CHECK(iterates(12, {1, 0, 1, 0, 65, 4, 0x40, 3}, 6));        // the counter behind a generator's
  CHECK_FALSE(iterates(12, {1, 0, 1, 0, 29, 4, 0x40, 3}, 6));  // behind another's
  CHECK(iterates(13, {1, 0, 1, 0, 187, 4, 0x40, 3}, 4));
  CHECK_FALSE(iterates(13, {1, 0, 1, 0, 93, 4, 0x40, 3}, 4));
  CHECK_FALSE(iterates(11, {1, 0, 93, 4}, 400));  // no instruction of it
}
