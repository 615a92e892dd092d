// SPDX-License-Identifier: MIT
// Runs a fuzz target over the files of its corpus, and over each with one byte or its end changed.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

// No input of a corpus is worth this much at once: what asks for more believed a number in it.
constexpr std::size_t kMaxAtOnce = 64u << 20;

void* operator new(std::size_t bytes) {
  void* const memory = bytes > kMaxAtOnce ? nullptr : std::malloc(bytes);
  if (memory != nullptr) return memory;
  std::fprintf(stderr, "an input asked for %zu bytes\n", bytes);
  std::abort();
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return operator new(bytes);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

void replay(const std::string& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3)
    return std::fputs("usage: fuzz_replay_NAME CORPUS [PLACES]\n", stderr), 2;
  const std::size_t places = argc == 3 ? std::strtoul(argv[2], nullptr, 10) : 100;
  int inputs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string whole(std::istreambuf_iterator<char>(file), {});
    replay(whole);
    ++inputs;
    // About as many places of each, so that the time does not depend on its size.
    const std::size_t step = whole.size() / std::max<std::size_t>(1, places) + 1;
    for (std::size_t at = 0; at < whole.size(); at += step, inputs += 2) {
      replay(whole.substr(0, at));
      std::string changed = whole;
      changed[at] = static_cast<char>(~changed[at]);
      replay(changed);
    }
  }
  std::printf("%d inputs\n", inputs);
  return inputs > 0 ? 0 : 1;
}
