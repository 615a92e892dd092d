// SPDX-License-Identifier: MIT
// A layer of units trained with OpenMP, its input drawn by the main thread. `--without`: one batch
// for all steps.
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "own_clock.h"

namespace {

constexpr int kRows = 64, kFeatures = 4096, kUnits = 64;
constexpr double kSeconds = 20;
using Floats = std::vector<float>;

void draw(std::minstd_rand& random, Floats& x) {
  for (float& value : x) value = static_cast<float>(random() % 2048) / 2048;
}

void update(const Floats& x, Floats& w) {
#pragma omp parallel for
  for (int unit = 0; unit < kUnits; ++unit) {
    float* weights = w.data() + unit * kFeatures;
    for (int row = 0; row < kRows; ++row) {
      const float* sample = x.data() + row * kFeatures;
      float y = 0;
      for (int i = 0; i < kFeatures; ++i) y += weights[i] * sample[i];
      const float gradient = std::tanh(y) * 1e-4F;
      for (int i = 0; i < kFeatures; ++i) weights[i] -= gradient * sample[i];
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool without = argc > 1 && std::strcmp(argv[1], "--without") == 0;
  std::minstd_rand random(1);
  Floats x(static_cast<std::size_t>(kRows * kFeatures)),
      w(static_cast<std::size_t>(kUnits * kFeatures), 0.01F);
  draw(random, x);
  OwnClock clock(kSeconds);
  while (clock.goesOn()) {
    clock.beginStep();
    if (!without) draw(random, x);
    clock.gotBatch();
    update(x, w);
  }
  clock.print();
}
