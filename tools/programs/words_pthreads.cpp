// SPDX-License-Identifier: MIT
// Vectors of words trained by two plain threads with code of their own, as word2vec does: each
// reads words from a file byte by byte, finds them by their hash, and moves the vectors of
// neighbours towards each other. `--without`: the same few words again and again, read once.
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "own_clock.h"

namespace {

constexpr int kThreads = 2, kSize = 64, kWords = 20000, kNegative = 3;
constexpr std::size_t kSentence = 1000, kSlots = 1 << 17;
constexpr double kSeconds = 20;

std::vector<std::string> names;
std::vector<int> slots(kSlots, -1);
std::vector<float> in(std::size_t{kWords} * kSize), out(in.size());

// Marsaglia's xorshift.
std::uint32_t shuffled(std::uint32_t state) {
  state ^= state << 13;
  state ^= state >> 17;
  return state ^ state << 5;
}

std::size_t slotOf(const char* text) {
  std::uint64_t hash = 0;
  for (; *text != 0; ++text) hash = hash * 257 + static_cast<unsigned char>(*text);
  return hash % kSlots;
}

int indexOf(const char* text) {
  for (std::size_t slot = slotOf(text);; slot = (slot + 1) % kSlots)
    if (slots[slot] < 0 || std::strcmp(names[slots[slot]].c_str(), text) == 0) return slots[slot];
}

void makeWords(const char* path) {
  FILE* file = std::fopen(path, "w");
  if (file == nullptr) std::exit(1);
  for (int i = 0; i < kWords; ++i) {
    names.push_back("word" + std::to_string(i * 7919L));
    std::size_t slot = slotOf(names.back().c_str());
    while (slots[slot] >= 0) slot = (slot + 1) % kSlots;
    slots[slot] = i;
  }
  std::uint32_t state = 1;
  for (int i = 0; i < 1000000; ++i) {
    state = shuffled(state);
    std::fprintf(file, "%s ", names[state % kWords].c_str());
  }
  std::fclose(file);
  for (float& x : in) x = 0.01F;
}

void fill(FILE* file, std::vector<int>& sentence) {
  sentence.clear();
  char text[64];
  int length = 0;
  while (sentence.size() < kSentence) {
    const int c = std::fgetc(file);
    if (c == EOF) std::rewind(file);
    if (c > ' ' && length < 63) {
      text[length++] = static_cast<char>(c);
    } else if (length > 0) {
      text[length] = 0;
      length = 0;
      sentence.push_back(indexOf(text));
    }
  }
}

void pull(float* a, float* b, float label) {
  float y = 0;
  for (int i = 0; i < kSize; ++i) y += a[i] * b[i];
  const float gradient = (label - 1 / (1 + std::exp(-y))) * 0.01F;
  for (int i = 0; i < kSize; ++i) {
    const float old = a[i];
    a[i] += gradient * b[i];
    b[i] += gradient * old;
  }
}

void worker(const char* path, bool without, OwnClock& clock) {
  FILE* file = std::fopen(path, "r");
  std::vector<int> sentence;
  std::uint32_t state = 7;
  while (clock.goesOn()) {
    clock.beginStep();
    if (!without || sentence.empty()) fill(file, sentence);
    clock.gotBatch();
    for (std::size_t i = 0; i + 1 < sentence.size(); ++i) {
      float* const a = in.data() + std::size_t(sentence[i]) * kSize;
      pull(a, out.data() + std::size_t(sentence[i + 1]) * kSize, 1);
      for (int n = 0; n < kNegative; ++n) {
        state = shuffled(state);
        pull(a, out.data() + std::size_t(state % kWords) * kSize, 0);
      }
    }
  }
  std::fclose(file);
}

}  // namespace

int main(int argc, char** argv) {
  const bool without = argc > 1 && std::strcmp(argv[1], "--without") == 0;
  char path[] = "/tmp/wordsXXXXXX";
  if (const int file = mkstemp(path); file < 0 || close(file) != 0) return 1;
  makeWords(path);
  std::vector<OwnClock> clocks(kThreads, OwnClock(kSeconds));
  std::vector<std::thread> threads;
  for (OwnClock& clock : clocks) threads.emplace_back(worker, path, without, std::ref(clock));
  for (std::thread& thread : threads) thread.join();
  clocks[0].print();
  std::remove(path);
}
