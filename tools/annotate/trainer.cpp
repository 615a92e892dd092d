// SPDX-License-Identifier: MIT
//
// A trainer in plain C++ that announces its steps and phases by stallprof/annotate.h:
// logistic regression on a file of samples that it makes first.
//
//   g++ -O2 -I PREFIX/include trainer.cpp -o trainer
//   stallprof run -- ./trainer --steps 300
//
// With --truth FILE it also keeps its own clock, and writes a line a step: "step BEGIN END
// extract=NS transform=NS compute=NS periodic=NS" (CLOCK_MONOTONIC).
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "stallprof/annotate.h"

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  int steps = 200, batch = 256, features = 512, saveEvery = 50;
  std::string truth;
};

long long nanos(Clock::time_point t) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(t.time_since_epoch()).count();
}

// What of a step a phase took, by the program's own clock.
struct Watch {
  long long& sum;
  Clock::time_point begin = Clock::now();
  ~Watch() { sum += nanos(Clock::now()) - nanos(begin); }
};

struct Step {
  long long begin = 0, end = 0, extract = 0, transform = 0, compute = 0, periodic = 0;
};

// Samples on disk: a byte a feature, and one for the label.
class Samples {
 public:
  Samples(int count, int features) : features_(features), count_(count) {
    char name[] = "/tmp/stallprof-trainer-XXXXXX";
    file_ = ::mkstemp(name);
    ::unlink(name);
    std::minstd_rand random(1);
    std::vector<std::uint8_t> row(static_cast<std::size_t>(features) + 1);
    for (int i = 0; i < count; ++i) {
      for (auto& value : row) value = static_cast<std::uint8_t>(random() >> 8);
      row.back() = row[0] > row[1];
      if (::write(file_, row.data(), row.size()) < 0) std::exit(1);
    }
  }
  ~Samples() { ::close(file_); }
  Samples(const Samples&) = delete;

  void read(int first, int batch, std::vector<std::uint8_t>& out) const {
    const std::size_t row = static_cast<std::size_t>(features_) + 1;
    out.resize(row * static_cast<std::size_t>(batch));
    for (int i = 0; i < batch; ++i) {
      const auto at = static_cast<off_t>(row) * ((first + i * 7919) % count_);
      if (::pread(file_, out.data() + row * static_cast<std::size_t>(i), row, at) < 0) std::exit(1);
    }
  }

 private:
  int features_, count_, file_;
};

// Bytes to features of mean 0 and deviation 1, sample by sample.
void normalize(const std::vector<std::uint8_t>& raw, int batch, int features,
               std::vector<float>& out) {
  const auto wide = static_cast<std::size_t>(features);
  out.resize(wide * static_cast<std::size_t>(batch));
  for (int i = 0; i < batch; ++i) {
    const std::uint8_t* in = raw.data() + static_cast<std::size_t>(i) * (wide + 1);
    float* to = out.data() + static_cast<std::size_t>(i) * wide;
    double sum = 0, squares = 0;
    for (std::size_t j = 0; j < wide; ++j) {
      sum += in[j];
      squares += double(in[j]) * in[j];
    }
    const double mean = sum / features, deviation = std::sqrt(squares / features - mean * mean) + 1;
    for (std::size_t j = 0; j < wide; ++j) to[j] = static_cast<float>((in[j] - mean) / deviation);
  }
}

// A few rounds of gradient descent on one batch.
void train(const std::vector<float>& x, const std::vector<std::uint8_t>& raw, int batch,
           int features, std::vector<float>& weights) {
  const auto wide = static_cast<std::size_t>(features);
  for (int round = 0; round < 4; ++round)
    for (int i = 0; i < batch; ++i) {
      const float* sample = x.data() + static_cast<std::size_t>(i) * wide;
      float dot = 0;
      for (std::size_t j = 0; j < wide; ++j) dot += sample[j] * weights[j];
      const float label = raw[static_cast<std::size_t>(i) * (wide + 1) + wide];
      const float error = 1 / (1 + std::exp(-dot)) - label;
      for (std::size_t j = 0; j < wide; ++j) weights[j] -= 0.01f * error * sample[j];
    }
}

void save(const std::vector<float>& weights) {
  std::FILE* file = std::tmpfile();
  if (file == nullptr) return;
  for (int i = 0; i < 100; ++i)
    std::fwrite(weights.data(), sizeof weights[0], weights.size(), file);
  std::fclose(file);
}

Step trainStep(const Options& options, const Samples& samples, int number,
               std::vector<float>& weights) {
  static std::vector<std::uint8_t> raw;
  static std::vector<float> batch;
  Step step;
  step.begin = nanos(Clock::now());
  const stallprof::StepMark mark;
  {
    const stallprof::PhaseMark phase(STALLPROF_EXTRACT);
    const Watch watch{step.extract};
    samples.read(number * 31, options.batch, raw);
  }
  {
    const stallprof::PhaseMark phase(STALLPROF_TRANSFORM);
    const Watch watch{step.transform};
    normalize(raw, options.batch, options.features, batch);
  }
  {
    const stallprof::PhaseMark phase(STALLPROF_COMPUTE);
    const Watch watch{step.compute};
    train(batch, raw, options.batch, options.features, weights);
  }
  if (options.saveEvery > 0 && number % options.saveEvery == 0) {
    const stallprof::PhaseMark phase(STALLPROF_PERIODIC);
    const Watch watch{step.periodic};
    save(weights);
  }
  step.end = nanos(Clock::now());
  return step;
}

Options parse(int count, char** words) {
  Options options;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string name = words[i];
    if (name == "--steps") options.steps = std::atoi(words[i + 1]);
    if (name == "--batch") options.batch = std::atoi(words[i + 1]);
    if (name == "--features") options.features = std::atoi(words[i + 1]);
    if (name == "--save-every") options.saveEvery = std::atoi(words[i + 1]);
    if (name == "--truth") options.truth = words[i + 1];
  }
  return options;
}

}  // namespace

int main(int count, char** words) {
  const Options options = parse(count, words);
  const Samples samples(4096, options.features);
  std::vector<float> weights(static_cast<std::size_t>(options.features));
  std::vector<Step> steps;
  for (int i = 0; i < options.steps; ++i) steps.push_back(trainStep(options, samples, i, weights));
  std::printf("trained for %d steps; the first weight is %.3f\n", options.steps,
              static_cast<double>(weights[0]));
  if (options.truth.empty()) return 0;
  std::FILE* file = std::fopen(options.truth.c_str(), "w");
  if (file == nullptr) return 1;
  for (const Step& s : steps)
    std::fprintf(file, "step %lld %lld extract=%lld transform=%lld compute=%lld periodic=%lld\n",
                 s.begin, s.end, s.extract, s.transform, s.compute, s.periodic);
  return std::fclose(file);
}
