// SPDX-License-Identifier: MIT
// What the gate says of made-up runs whose truth is known: how often it cries wolf, how often it
// finds what is there. The verdict is judgeGate's own. One JSON object a line; scripts/bench_gate
// makes the page of them.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include "base/stats.h"
#include "gate/interim.h"
#include "gate/verdict.h"

namespace {

using namespace stallprof;

enum class Luck { kNormal, kHeavy, kSlowRuns, kVerySlow, kFromSteps, kDrift, kDriftInterleaved };

struct Setting {
  const char* name;
  Luck luck = Luck::kNormal;
  double noise = 0.01;   // deviation of a run's luck
  double effect = 0;     // what the change costs
  std::size_t runs = 8;  // a side
  int trials = 4000;
  std::size_t maximum =
      0;  // --max-runs: analyse again with more runs while unsure; 0: as --ab alone
};

class World {
 public:
  explicit World(const Setting& setting) : setting_(setting) {}

  // Nanoseconds a step in run `index` of a side.
  double run(std::size_t index, bool head) {
    const double luck = luckOf(), truth = 1e8 * (head ? 1 + setting_.effect : 1);
    const double when = drift(index, head);
    if (setting_.luck != Luck::kFromSteps) return truth * std::exp(luck + when);
    return truth * std::exp(luck) * meanOfSteps();
  }

 private:
  double luckOf() {
    const double n = setting_.noise;
    if (setting_.luck == Luck::kHeavy) return n * student_(random_) / std::sqrt(3.0);
    // One run in ten meets a busy neighbour.
    if (setting_.luck == Luck::kSlowRuns)
      return n * normal_(random_) + (uniform_(random_) < 0.1 ? 0.10 : 0);
    // One in eight is what a real page of this gate met: 24 % slow.
    if (setting_.luck == Luck::kVerySlow)
      return n * normal_(random_) + (uniform_(random_) < 0.125 ? 0.22 : 0);
    return n * normal_(random_);
  }

  // A host that slows by 3 % over all the runs: the base measured first, or the sides by turns.
  double drift(std::size_t index, bool head) const {
    constexpr double kDrift = 0.03;
    const auto i = static_cast<double>(index), n = static_cast<double>(2 * setting_.runs - 1);
    if (setting_.luck == Luck::kDrift)
      return kDrift * (i + (head ? static_cast<double>(setting_.runs) : 0)) / n;
    if (setting_.luck != Luck::kDriftInterleaved) return 0;
    const bool second = head != (index % 2 == 1);  // ABBA
    return kDrift * (2 * i + (second ? 1 : 0)) / n;
  }

  // 200 steps, AR(1) of 0.5, 5 % apart, one in a hundred a spike: research of this rule used these.
  double meanOfSteps() {
    std::vector<double> steps;
    double now = normal_(random_);
    for (int i = 0; i < 200; ++i) {
      now = 0.5 * now + std::sqrt(0.75) * normal_(random_);
      steps.push_back(std::exp(0.05 * now) * (uniform_(random_) < 0.01 ? 3 : 1));
    }
    return mean(steps);
  }

  Setting setting_;
  std::mt19937_64 random_{20261121};
  std::normal_distribution<double> normal_;
  std::student_t_distribution<double> student_{3};
  std::uniform_real_distribution<double> uniform_;
};

void addRuns(std::vector<GateRun>& side, World& world, bool head, std::size_t runs) {
  while (side.size() < runs) {
    GateRun run;
    run.numbers = {{"steps.rate_per_s", 1e9 / world.run(side.size(), head)}};
    run.exitCode = 0;
    side.push_back(std::move(run));
  }
}

struct Judged {
  GateResult result;
  std::size_t runs = 0;  // a side
};

Judged judged(World& world, const Setting& setting, const Policy& policy) {
  const auto samples = interimsOf(setting.runs, setting.maximum, policy.minRuns);
  const Policy each = policyOfInterim(policy, samples.size());
  std::vector<GateRun> base, head;
  for (const std::size_t runs : samples) {
    addRuns(base, world, false, runs);
    addRuns(head, world, true, runs);
    Result<GateResult> result = judgeGate(each, base, head);
    if (!result.ok()) std::abort();
    if (runs == samples.back() || !wantsMore(result.value()))
      return {std::move(result).value(), runs};
  }
  std::abort();
}

void simulate(const Setting& setting) {
  Policy policy = defaultPolicy();
  policy.checks.resize(1);  // that which can fail
  World world(setting);
  std::size_t verdicts[7] = {}, failedGates = 0;
  std::vector<double> detectable;
  std::size_t runs = 0;
  for (int i = 0; i < setting.trials; ++i) {
    const Judged one = judged(world, setting, policy);
    const CheckResult& check = one.result.checks[0];
    runs += one.runs;
    ++verdicts[static_cast<std::size_t>(check.verdict)];
    failedGates += exitStatus(one.result.outcome) == 1;
    if (check.shift) detectable.push_back(check.scale.shownOf(check.shift->detectable));
  }
  const auto share = [&](CheckVerdict v) {
    return static_cast<double>(verdicts[static_cast<std::size_t>(v)]) / setting.trials;
  };
  fmt::print(
      "{{\"name\": \"{}\", \"noise\": {}, \"effect\": {}, \"runs\": {:.1f}, \"trials\": {}, "
      "\"failed\": {}, \"improved\": {}, \"same\": {}, \"inconclusive\": {}, "
      "\"detectable\": {}}}\n",
      setting.name, setting.noise, setting.effect, static_cast<double>(runs) / setting.trials,
      setting.trials, static_cast<double>(failedGates) / setting.trials,
      share(CheckVerdict::kImproved), share(CheckVerdict::kSame),
      share(CheckVerdict::kInconclusive), median(std::move(detectable)));
}

}  // namespace

int main() {
  for (const double noise : {0.01, 0.02, 0.05}) {
    simulate({"normal", Luck::kNormal, noise, 0, 8, 20000});
    for (const double effect : {0.03, 0.05, 0.10})
      simulate({"normal", Luck::kNormal, noise, effect});
  }
  for (const double noise : {0.01, 0.02, 0.05})
    for (const double effect : {0.0, 0.05})
      simulate({"normal, five a side", Luck::kNormal, noise, effect, 5});
  for (const auto& [name, luck] :
       {std::pair("from steps", Luck::kFromSteps), std::pair("heavy tails", Luck::kHeavy),
        std::pair("one run in ten slow", Luck::kSlowRuns),
        std::pair("one run in eight very slow", Luck::kVerySlow),
        std::pair("drift, base first", Luck::kDrift),
        std::pair("drift, by turns", Luck::kDriftInterleaved)})
    for (const double effect : {0.0, 0.05}) simulate({name, luck, 0.02, effect, 8, 2000});
  // False alarms of what the promise names, with runs far off too.
  for (const double noise : {0.01, 0.05})
    for (const auto& [name, luck] : {std::pair("one run in ten slow", Luck::kSlowRuns),
                                     std::pair("one run in eight very slow", Luck::kVerySlow)})
      simulate({name, luck, noise, 0, 8, 20000});
  for (const double noise : {0.02, 0.05})
    for (const double effect : {0.0, 0.05})
      simulate({"5 to 12 by interim analyses", Luck::kNormal, noise, effect, 5, 4000, 12});
  for (const double effect : {0.0, 0.05})
    simulate({"5 to 12 by interim analyses, one in eight very slow", Luck::kVerySlow, 0.02, effect,
              5, 4000, 12});
}
