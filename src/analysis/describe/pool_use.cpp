// SPDX-License-Identifier: MIT
#include "analysis/describe/pool_use.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "classify/native_class.h"

namespace stallprof {
namespace {

// Of the spin samples of the thread with the most: fewer are of a short region, or of another pool.
constexpr double kMember = 0.1;

class Classes {
 public:
  explicit Classes(const Trace& trace) : trace_(trace) {}

  bool spins(const NativeSlice& sample) {
    const auto [at, fresh] = spins_.try_emplace({sample.file, sample.function}, false);
    if (fresh)
      at->second = nativeClass(trace_.text(sample.file),
                               readableSymbol(trace_.text(sample.function))) == NativeClass::kSpin;
    return at->second;
  }

 private:
  const Trace& trace_;
  std::map<std::pair<StringId, StringId>, bool> spins_;
};

}  // namespace

Maybe<PoolUse> poolUse(const Trace& trace, const TrainerFacts& trainer) {
  Classes classes(trace);
  PoolUse use;
  std::vector<double> spinning;
  for (const ThreadLife& thread : trace.threads) {
    if (thread.process != trainer.process) continue;
    double spins = 0;
    for (const auto& row : thread.natives) {
      const Nanos middle = row.at + row.data.duration / 2;
      if (middle < trainer.windowBegin || middle >= trainer.windowEnd) continue;
      use.samples += row.data.samples;
      if (classes.spins(row.data)) spins += row.data.samples;
    }
    use.spins += spins;
    spinning.push_back(spins);
  }
  if (use.samples <= 0) return {};
  const double most = *std::max_element(spinning.begin(), spinning.end());
  use.spinning = static_cast<int>(std::count_if(spinning.begin(), spinning.end(), [&](double each) {
    return each > 0 && each >= kMember * most;
  }));
  return use;
}

}  // namespace stallprof
