// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdio>

// What a training program in C++ says of itself, as own_clock.py does for those in Python: how many
// steps it took, and how much of its loop went to data. The rest is computing.
class OwnClock {
 public:
  using Time = std::chrono::steady_clock;

  explicit OwnClock(double seconds) : seconds_(seconds) {}
  [[nodiscard]] bool goesOn() const { return since(begin_) < seconds_; }
  void beginStep() {
    ++steps_;
    at_ = Time::now();
  }
  void gotBatch() { data_ += since(at_); }
  void print() const {
    const double all = since(begin_);
    std::printf(
        "{\"steps\": %ld, \"seconds\": %.3f, \"share\": {\"data\": %.4f, \"compute\": %.4f}}\n",
        steps_, all, data_ / all, 1 - data_ / all);
  }

 private:
  static double since(Time::time_point at) {
    return std::chrono::duration<double>(Time::now() - at).count();
  }
  const double seconds_;
  const Time::time_point begin_ = Time::now();
  Time::time_point at_ = begin_;
  long steps_ = 0;
  double data_ = 0;
};
