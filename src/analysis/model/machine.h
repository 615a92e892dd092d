// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <vector>

namespace stallprof {

// Cores as processor sharing, and delays, on one clock. Everything runnable advances at one rate,
// so CPU work is due at a point of a common virtual clock that runs at that rate: no event ever has
// to be rescheduled when the rate changes.
class Machine {
 public:
  explicit Machine(double cores) : cores_(std::max(cores, 1e-3)) {}
  [[nodiscard]] double now() const { return now_; }

  void wait(int who, double length) { delays_.push({now_ + length, who, 0}); }
  void compute(int who, double length, double weight) {
    runnable_ += weight;
    cpu_.push({virtual_ + length, who, weight});
  }

  // The next to finish, or -1 when nothing is under way.
  int advance() {
    const double rate = runnable_ > cores_ ? cores_ / runnable_ : 1;
    const double cpuAt =
        cpu_.empty() ? kNever : now_ + std::max(0.0, cpu_.top().due - virtual_) / rate;
    const double delayAt = delays_.empty() ? kNever : delays_.top().due;
    if (cpuAt == kNever && delayAt == kNever) return -1;
    const bool cpuFirst = cpuAt <= delayAt;
    const double then = std::max(now_, std::min(cpuAt, delayAt));
    virtual_ = cpuFirst ? cpu_.top().due : virtual_ + (then - now_) * rate;
    now_ = then;
    auto& from = cpuFirst ? cpu_ : delays_;
    const Due first = from.top();
    from.pop();
    runnable_ = cpu_.empty() ? 0 : runnable_ - first.weight;
    return first.who;
  }

 private:
  struct Due {
    double due;
    int who;
    double weight;
    bool operator>(const Due& o) const { return due != o.due ? due > o.due : who > o.who; }
  };
  using Heap = std::priority_queue<Due, std::vector<Due>, std::greater<>>;
  double cores_, now_ = 0, virtual_ = 0, runnable_ = 0;
  Heap delays_, cpu_;
  static constexpr double kNever = std::numeric_limits<double>::infinity();
};

}  // namespace stallprof
