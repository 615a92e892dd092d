// SPDX-License-Identifier: MIT
#include "sampler/python/runtime/stack_reader.h"

#include <cstring>

#include "tests/catch.h"

using namespace stallprof::python;

namespace {

// A process whose memory is one block, and in it a thread of CPython 3.10.
struct ThreadInMemory : RemoteMemory {
  ThreadInMemory() { kept.currentAt = 0; }
  std::size_t read(std::span<const RemoteSpan> spans) override {
    for (std::size_t i = 0; i < spans.size(); ++i) {
      if (spans[i].address + spans[i].bytes > bytes.size()) return i;
      std::memcpy(spans[i].into, bytes.data() + spans[i].address, spans[i].bytes);
    }
    return spans.size();
  }
  void put(Address at, Address value) { std::memcpy(bytes.data() + at, &value, sizeof value); }
  // A frame at each of the addresses, the innermost first; the outermost was called from `outer`.
  void frames(const std::vector<Address>& chain, Address outer = 0) {
    put(kThread + layout.frame, chain.front());
    for (std::size_t i = 0; i < chain.size(); ++i) {
      put(chain[i] + layout.back, i + 1 < chain.size() ? chain[i + 1] : outer);
      put(chain[i] + layout.code, 64);
    }
  }
  StackReader::Outcome sample() {
    const std::span state(bytes.data() + kThread, layout.threadBytes);
    return reader.read(layout, kThread, state, nullptr, *this, kept, found);
  }
  static constexpr Address kThread = 512;
  const Layout layout = layoutOf(10).value();
  std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(2u << 20);
  StackReader reader;
  StackMemory kept;
  std::vector<RawFrame> found;
};

}  // namespace

TEST_CASE("a thread's frames are read from its innermost on, the outermost first") {
  ThreadInMemory thread;
  thread.frames({4096, 8192, 12288});
  CHECK(thread.sample() == StackReader::Outcome::kWhole);
  REQUIRE(thread.found.size() == 3);
  CHECK(thread.found[0].at == 12288);
}

TEST_CASE("frames that lead back into themselves changed while they were read: no deep stack") {
  ThreadInMemory thread;
  for (const std::vector<Address>& chain :
       {std::vector<Address>{4096}, {4096, 8192}, {4096, 8192, 12288, 16384, 20480}}) {
    thread.frames(chain, chain.front());
    CHECK(thread.sample() == StackReader::Outcome::kTorn);
    thread.frames(chain, chain.back());
    CHECK(thread.sample() == StackReader::Outcome::kTorn);
    thread.frames(chain);
    CHECK(thread.sample() == StackReader::Outcome::kWhole);  // the next sample reads it
  }
}

TEST_CASE("a stack that is too deep rests for some samples") {
  ThreadInMemory thread;
  std::vector<Address> chain;
  for (Address at = 4096; chain.size() < 2500; at += 512) chain.push_back(at);
  thread.frames(chain);
  CHECK(thread.sample() == StackReader::Outcome::kTooDeep);
  thread.frames({4096});
  int rested = 0;
  while (thread.sample() == StackReader::Outcome::kTooDeep) ++rested;
  CHECK(rested == 64);
}
