// SPDX-License-Identifier: MIT
// Logistic regression over small files, one a sample, read by the thread that trains. `--without`:
// the first batch again and again.
#include <fcntl.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "own_clock.h"

namespace {

constexpr std::size_t kFiles = 3000, kFeatures = 4096, kBatch = 64;
constexpr double kSeconds = 20;
using Floats = std::vector<float>;

std::string makeFiles(std::mt19937& random) {
  char folder[] = "/tmp/samplesXXXXXX";
  if (mkdtemp(folder) == nullptr) std::exit(1);
  std::string bytes(kFeatures, '\0');
  for (std::size_t i = 0; i < kFiles; ++i) {
    for (char& byte : bytes) byte = static_cast<char>(random());
    std::ofstream(folder + ("/" + std::to_string(i))) << bytes;
  }
  return folder;
}

void load_batch(const std::string& folder, std::mt19937& random, Floats& x) {
  std::vector<signed char> bytes(kFeatures);
  for (std::size_t row = 0; row < kBatch; ++row) {
    const std::string path = folder + "/" + std::to_string(random() % kFiles);
    const int file = open(path.c_str(), O_RDONLY);
    if (read(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(kFeatures)) std::exit(1);
    close(file);
    for (std::size_t i = 0; i < kFeatures; ++i)
      x[row * kFeatures + i] = static_cast<float>(bytes[i]) / 128;
  }
}

void train_step(const Floats& x, Floats& w) {
  for (std::size_t row = 0; row < kBatch; ++row) {
    const float* sample = x.data() + row * kFeatures;
    float y = 0;
    for (std::size_t i = 0; i < kFeatures; ++i) y += w[i] * sample[i];
    const float gradient = std::tanh(y) * 1e-4F;
    for (std::size_t i = 0; i < kFeatures; ++i) w[i] -= gradient * sample[i];
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool without = argc > 1 && std::strcmp(argv[1], "--without") == 0;
  std::mt19937 random(1);
  const std::string folder = makeFiles(random);
  Floats x(kBatch * kFeatures), w(kFeatures, 0.01F);
  load_batch(folder, random, x);
  train_step(x, w);  // caches and pages are warm from here on
  OwnClock clock(kSeconds);
  while (clock.goesOn()) {
    clock.beginStep();
    if (!without) load_batch(folder, random, x);
    clock.gotBatch();
    train_step(x, w);
  }
  clock.print();
  std::filesystem::remove_all(folder);
}
