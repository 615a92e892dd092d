// SPDX-License-Identifier: MIT
#include "analysis/verdict/rank.h"

#include <cmath>

#include "analysis/findings/build.h"
#include "tests/catch.h"
#include "tests/unit/analysis/facts_builder.h"

using namespace stallprof;
using namespace stallprof::test;

namespace {

Finding made(const char* id, Phase phase, double speedup, Confidence confidence) {
  Finding f;
  f.id = id;
  f.phase = phase;
  f.confidence = confidence;
  f.shareRatio = 1 - 1 / speedup;
  Advice a;
  a.predicted = {speedup, speedup, speedup};
  f.advice.push_back(a);
  return f;
}

Finding assumed(const char* id, Phase phase, double speedup, Confidence confidence) {
  Finding f = made(id, phase, speedup, confidence);
  f.advice[0].predicted = assuming("it goes", f.advice[0].predicted);
  return f;
}

bool notesTie(const Finding& f) {
  for (const EvidenceItem& e : f.evidence)
    if (e.text.find("tie") != std::string::npos) return true;
  return false;
}

struct Judged {
  Facts facts;
  Evidence evidence;
  explicit Judged(const Training& t)
      : facts(factsOf(t)), evidence(gather(facts.trace, facts.trainer, facts.run)) {}
  Judged(const Judged&) = delete;
};

}  // namespace

TEST_CASE("the rank is seconds saved times confidence, not the share") {
  std::vector<Finding> list = {
      made("load.ipc", Phase::kLoad, 1.5, Confidence::kLow),
      made("transform.in_process", Phase::kTransform, 1.3, Confidence::kHigh)};
  list[0].shareRatio = 0.9;
  rankFindings(list);
  CHECK(list[0].id == "transform.in_process");  // 0.23 x 1 over 0.33 x 0.4
  CHECK(list[0].rank == 1);
  CHECK(list[1].rank == 2);
}

TEST_CASE("no assumed gain ranks above a replayed fix of 5 %, however large and sure it is") {
  std::vector<Finding> list = {
      assumed("extract.storage_bandwidth", Phase::kExtract, 3, Confidence::kHigh),
      made("load.ipc", Phase::kLoad, 1.05, Confidence::kLow),
      made("transform.in_process", Phase::kTransform, 1.3, Confidence::kHigh)};
  rankFindings(list);
  CHECK(list[0].id == "transform.in_process");
  CHECK(list[1].id == "load.ipc");
  CHECK(list[2].id == "extract.storage_bandwidth");
}

TEST_CASE("a replayed gain below 5 % is no fix: a larger assumed one goes first") {
  std::vector<Finding> list = {
      made("load.no_prefetch", Phase::kLoad, 1.049, Confidence::kHigh),
      assumed("extract.storage_bandwidth", Phase::kExtract, 3, Confidence::kHigh)};
  rankFindings(list);
  CHECK(list[0].id == "extract.storage_bandwidth");
}

TEST_CASE(
    "a replayed gain whose interval begins below 5 % is no sure fix: a larger assumed one goes "
    "first") {
  std::vector<Finding> list = {
      made("load.worker_startup", Phase::kLoad, 1.1, Confidence::kMedium),
      assumed("transform.cpu_saturated", Phase::kTransform, 1.5, Confidence::kMedium)};
  list[0].advice[0].predicted.low = 1.02;
  list[0].advice[0].predicted.high = 1.2;
  rankFindings(list);
  CHECK(list[0].id == "transform.cpu_saturated");
}

TEST_CASE("a replayed and an assumed gain are neither tied nor mixed") {
  Judged j{Training{}};
  std::vector<Finding> list = {
      made("transform.too_few_workers", Phase::kTransform, 2, Confidence::kHigh),
      assumed("extract.storage_bandwidth", Phase::kExtract, 2, Confidence::kHigh)};
  const Verdict v = verdictOf(j.evidence, list);
  CHECK(v.boundBy == "transform");
  CHECK(v.tied.empty());
}

TEST_CASE("replayed fixes are advised before assumed ones, and those before what gains nothing") {
  const auto advice = [](const char* id, double speedup) {
    Advice a;
    a.id = id;
    a.change.kind = "code";
    a.predicted.speedup = speedup;
    return a;
  };
  Advice guess = advice("guess", 4);
  guess.predicted = assuming("it goes", guess.predicted);
  Finding f;
  for (const Advice& a : {advice("nothing", 1.04), guess, advice("sure", 1.2)}) offer(f, a);
  CHECK(f.advice[0].id == "sure");
  CHECK(f.advice[1].id == "guess");
  CHECK(f.advice[2].id == "nothing");
}

TEST_CASE("of two that one fix cures the one that explains more of the time goes first") {
  std::vector<Finding> list = {
      made("extract.random_access", Phase::kExtract, 2, Confidence::kHigh),
      made("transform.too_few_workers", Phase::kTransform, 2, Confidence::kHigh)};
  list[0].shareRatio = 0.42;
  list[1].shareRatio = 0.86;
  rankFindings(list);
  CHECK(list[0].id == "transform.too_few_workers");
}

TEST_CASE("what cannot be predicted counts its share, at the weight of its confidence") {
  Finding f = made("host.memory_pressure", Phase::kOther, 2, Confidence::kLow);
  f.advice[0].predicted = {};
  CHECK(std::abs(gainOf(f) - 0.5) < 1e-9);
  CHECK(std::abs(scoreOf(f) - 0.2) < 1e-9);
}

TEST_CASE("a second within 10 % of the first is said to be a tie, one beyond is not") {
  std::vector<Finding> list = {
      made("transform.too_few_workers", Phase::kTransform, 1 / 0.50, Confidence::kHigh),
      made("extract.small_files", Phase::kExtract, 1 / 0.54, Confidence::kHigh),
      made("load.ipc", Phase::kLoad, 1 / 0.60, Confidence::kHigh)};
  Judged j{Training{}};
  const Verdict v = verdictOf(j.evidence, list);
  CHECK(v.tied == std::vector<int>{1, 2});
  CHECK_FALSE(v.withheld);
  CHECK_FALSE(notesTie(list[0]));
  CHECK(notesTie(list[1]));
  CHECK_FALSE(notesTie(list[2]));
}

TEST_CASE(
    "which of two that are tied is the first is not certain, but for a part of it or a guess") {
  const auto confidence = [](const char* id, Phase phase, double second, Confidence of) {
    std::vector<Finding> list = {
        assumed("compute.python_overhead", Phase::kCompute, 1.5, Confidence::kHigh),
        assumed(id, phase, second, of)};
    Judged j{Training{}};
    const Verdict v = verdictOf(j.evidence, list);
    CHECK(list[0].confidence == Confidence::kHigh);
    return v.confidence;
  };
  const auto other = [&](double second, Confidence of) {
    return confidence("periodic.logging", Phase::kPeriodic, second, of);
  };
  CHECK(other(1.48, Confidence::kHigh) == Confidence::kMedium);
  CHECK(other(1.2, Confidence::kHigh) == Confidence::kHigh);
  CHECK(confidence("compute.small_ops", Phase::kCompute, 1.48, Confidence::kHigh) ==
        Confidence::kHigh);  // within it
  CHECK(other(5, Confidence::kLow) == Confidence::kHigh);
}

TEST_CASE("what trials measured is certain beside a tie") {
  std::vector<Finding> list = {
      made("compute.python_overhead", Phase::kCompute, 1.5, Confidence::kHigh),
      made("periodic.logging", Phase::kPeriodic, 1.46, Confidence::kHigh)};
  for (Finding& f : list) {
    f.advice[0].measured = f.advice[0].predicted.speedup;
    f.advice[0].measuredLow = *f.advice[0].measured - 0.01;
    f.advice[0].measuredHigh = *f.advice[0].measured + 0.01;
  }
  Verdict v;
  v.withheld = {};
  rankVerified(list, v);
  REQUIRE(v.tied.size() == 2);
  CHECK(v.confidence == Confidence::kVerified);
  // Tried, the second is the first, and its own tie is said of the other.
  const auto ties = [](const Finding& f) {
    return std::count_if(f.evidence.begin(), f.evidence.end(),
                         [](const EvidenceItem& e) { return e.text.starts_with("a tie:"); });
  };
  CHECK(ties(list[1]) == 1);
  list[1].advice[0].measured = 1.52;
  list[1].advice[0].measuredHigh = 1.53;
  rankVerified(list, v);
  CHECK(list[0].id == "periodic.logging");
  CHECK(ties(list[0]) == 0);
  CHECK(ties(list[1]) == 1);
}

TEST_CASE(
    "a gain that was measured is a verdict beside other programs and less that is unexplained") {
  const auto verdictWith = [](NoVerdict::Why why, double gain) {
    std::vector<Finding> list = {made("periodic.logging", Phase::kPeriodic, 1.4, Confidence::kLow)};
    list[0].advice[0].measured = gain;
    list[0].advice[0].measuredLow = gain - 0.01;
    list[0].advice[0].measuredHigh = gain + 0.01;
    Verdict v;
    v.withheld = NoVerdict{why, 0.5, 0};
    rankVerified(list, v);
    return v;
  };
  const Verdict v = verdictWith(NoVerdict::Why::kOthersCpu, 1.3);
  CHECK_FALSE(v.withheld);
  CHECK(v.boundBy == "periodic");
  CHECK(v.confidence == Confidence::kVerified);
  CHECK(verdictWith(NoVerdict::Why::kOthersCpu, 1.01).withheld);
  CHECK(verdictWith(NoVerdict::Why::kUnexplained, 1.3).withheld);  // of a half: that may gain more
  CHECK_FALSE(verdictWith(NoVerdict::Why::kUnexplained, 2.1).withheld);
  CHECK(verdictWith(NoVerdict::Why::kNoFix, 2.1).withheld);  // it is of the rest, not of the data
}

TEST_CASE("what most of a finding is goes before it where its own fix gains about as much") {
  const auto first = [](double share, double speedup) {
    std::vector<Finding> list = {
        assumed("transform.in_process", Phase::kTransform, 1.06, Confidence::kHigh),
        assumed("extract.small_files", Phase::kExtract, speedup, Confidence::kHigh)};
    list[0].shareRatio = 0.113;
    list[1].shareRatio = share;
    rankFindings(list);
    return list[0].id;
  };
  CHECK(first(0.074, 1.059) == "extract.small_files");
  CHECK(first(0.050, 1.059) == "transform.in_process");
  CHECK(first(0.074, 1.050) == "transform.in_process");
}

TEST_CASE("two that gain next to nothing are no tie: the first of a healthy run is its own work") {
  Judged j{Training{}};
  std::vector<Finding> weak = {made("load.ipc", Phase::kLoad, 1.02, Confidence::kHigh),
                               made("load.no_prefetch", Phase::kLoad, 1.02, Confidence::kHigh)};
  (void)verdictOf(j.evidence, weak);
  REQUIRE(weak[0].id == "compute.cpu_bound");
  CHECK_FALSE(notesTie(weak[1]));
  CHECK_FALSE(notesTie(weak[2]));
}

TEST_CASE("a finding lies within the widest of its parents that fired and has its share") {
  const auto within = [](double share, double parentShare) {
    std::vector<Finding> list = {
        made("load.no_prefetch", Phase::kLoad, 1.2, Confidence::kHigh),
        made("transform.cpu_saturated", Phase::kTransform, 2, Confidence::kHigh),
        made("transform.stragglers", Phase::kTransform, 1.5, Confidence::kHigh)};
    list[0].shareRatio = share;
    list[1].shareRatio = parentShare;
    list[2].shareRatio = 0.4;
    rankFindings(list);
    for (const Finding& f : list)
      if (f.id.starts_with("load.")) return f.within;
    return Maybe<std::string>();
  };
  CHECK(within(0.3, 0.5) == Maybe<std::string>("transform.cpu_saturated"));
  CHECK(within(0.3, 0.2) == Maybe<std::string>("transform.stragglers"));
  CHECK(within(0.6, 0.2) == std::nullopt);
}

TEST_CASE("bound_by is mixed only when the second is of another phase and as good") {
  Judged j{Training{}};
  std::vector<Finding> near = {made("transform.a", Phase::kTransform, 2, Confidence::kHigh),
                               made("extract.b", Phase::kExtract, 1.9, Confidence::kHigh)};
  CHECK(verdictOf(j.evidence, near).boundBy == "mixed");
  std::vector<Finding> same = {made("transform.a", Phase::kTransform, 2, Confidence::kHigh),
                               made("transform.b", Phase::kTransform, 1.9, Confidence::kHigh)};
  CHECK(verdictOf(j.evidence, same).boundBy == "transform");
  std::vector<Finding> far = {made("transform.a", Phase::kTransform, 2, Confidence::kHigh),
                              made("extract.b", Phase::kExtract, 1.5, Confidence::kHigh)};
  CHECK(verdictOf(j.evidence, far).boundBy == "transform");
  const auto beside = [&](Confidence first) {
    std::vector<Finding> guess = {made("transform.a", Phase::kTransform, 2, first),
                                  made("extract.b", Phase::kExtract, 2, Confidence::kLow)};
    return verdictOf(j.evidence, guess).boundBy;
  };
  CHECK(beside(Confidence::kHigh) == "transform");
  CHECK(beside(Confidence::kLow) == "mixed");
}

TEST_CASE("what goes first by an assumption is not certain beside what takes more of the time") {
  const auto first = [](double share, double high) {
    std::vector<Finding> list = {
        assumed("periodic.logging", Phase::kPeriodic, 1.07, Confidence::kHigh),
        assumed("transform.in_process", Phase::kTransform, 1.055, Confidence::kHigh)};
    list[1].shareRatio = share;
    list[1].advice[0].predicted.high = high;
    Judged j{Training{}};
    const Verdict v = verdictOf(j.evidence, list);
    CHECK(list[0].id == "periodic.logging");
    CHECK(list[0].confidence == Confidence::kHigh);
    CHECK(v.tied.empty());
    return v.confidence;
  };
  CHECK(first(0.11, 1.11) == Confidence::kMedium);
  CHECK(first(0.05, 1.11) == Confidence::kHigh);
  CHECK(first(0.11, 1.06) == Confidence::kHigh);
}

TEST_CASE(
    "what goes first by a surer fix is not certain beside what takes more, all of which may go") {
  const auto first = [](double share, double speedup) {
    std::vector<Finding> list = {
        made("load.worker_startup", Phase::kLoad, 1.26, Confidence::kHigh),
        made("periodic.evaluation", Phase::kPeriodic, 1.19, Confidence::kMedium)};
    list[1].shareRatio = share;
    Advice all;
    all.predicted = assuming("another device evaluates", {speedup, {}, speedup});
    list[1].advice.push_back(all);
    Judged j{Training{}};
    return verdictOf(j.evidence, list).confidence;
  };
  CHECK(first(0.32, 1.47) == Confidence::kMedium);
  CHECK(first(0.20, 1.47) == Confidence::kHigh);
  CHECK(first(0.32, 1.20) == Confidence::kHigh);
}

TEST_CASE("what goes first as it is surer is no surer than what would gain more, but for a guess") {
  Judged j{Training{}};
  j.facts.trainer.stacks.makingRunning.add(Phase::kTransform, &j, 1, 100);
  const auto confidence = [&](double speedup, Confidence of) {
    std::vector<Finding> list = {
        made("transform.in_process", Phase::kTransform, 1.35, Confidence::kHigh),
        made("periodic.evaluation", Phase::kPeriodic, speedup, of)};
    const Verdict v = verdictOf(j.evidence, list);
    CHECK(list[0].id == "transform.in_process");
    return v.confidence;
  };
  CHECK(confidence(1.5, Confidence::kMedium) == Confidence::kMedium);
  CHECK(confidence(1.36, Confidence::kMedium) == Confidence::kHigh);
  CHECK(confidence(2, Confidence::kLow) == Confidence::kHigh);
}

TEST_CASE("that batches are transformed, and not read, is no surer than a few samples of it") {
  const auto confidence = [](double samples, Phase phase) {
    Judged j{Training{}};
    j.facts.trainer.stacks.makingRunning.add(Phase::kTransform, &j, 1, samples);
    std::vector<Finding> one = {made("transform.in_process", phase, 1.35, Confidence::kHigh)};
    return verdictOf(j.evidence, one).confidence;
  };
  CHECK(confidence(30, Phase::kTransform) == Confidence::kHigh);
  CHECK(confidence(29, Phase::kTransform) == Confidence::kMedium);
  CHECK(confidence(0, Phase::kTransform) == Confidence::kMedium);
  CHECK(confidence(0, Phase::kExtract) == Confidence::kHigh);  // what it is blocked in says so
}

TEST_CASE("no fix of 5 %: compute.cpu_bound first, and healthy") {
  Judged j{Training{}};
  std::vector<Finding> weak = {made("load.worker_startup", Phase::kLoad, 1.049, Confidence::kHigh)};
  const Verdict v = verdictOf(j.evidence, weak);
  CHECK(weak[0].id == "compute.cpu_bound");
  CHECK(weak[1].rank == 2);
  CHECK(v.healthy == Maybe<bool>(true));
  CHECK(v.boundBy == "compute");
  std::vector<Finding> strong = {
      made("load.worker_startup", Phase::kLoad, 1.05, Confidence::kHigh)};
  CHECK(verdictOf(j.evidence, strong).healthy == Maybe<bool>(false));
  CHECK(strong[0].id == "load.worker_startup");
}

TEST_CASE("what others do below a quarter of the time is a caveat: no fix, no tie, never mixed") {
  Judged j{Training{}};
  Finding pressure = made("host.memory_pressure", Phase::kOther, 2, Confidence::kHigh);
  pressure.shareRatio = 0.2;
  pressure.advice[0].predicted = {};
  std::vector<Finding> alone = {pressure};
  const Verdict healthy = verdictOf(j.evidence, alone);
  CHECK(healthy.healthy == Maybe<bool>(true));
  CHECK(healthy.boundBy == "compute");
  CHECK(alone[0].id == "compute.cpu_bound");
  CHECK(alone[1].id == "host.memory_pressure");
  std::vector<Finding> beside = {pressure,
                                 assumed("load.ipc", Phase::kLoad, 1 / 0.81, Confidence::kHigh)};
  const Verdict bound = verdictOf(j.evidence, beside);
  CHECK(bound.boundBy == "load");
  CHECK(bound.tied.empty());
  CHECK(beside[0].id == "load.ipc");
  CHECK(beside[1].rank == 2);
}

TEST_CASE("what others do from a quarter on comes first where it costs most, and is no health") {
  Judged j{Training{}};
  Finding pressure = made("host.memory_pressure", Phase::kOther, 2, Confidence::kHigh);
  pressure.advice[0].predicted = {};
  std::vector<Finding> list = {pressure};
  const Verdict v = verdictOf(j.evidence, list);
  CHECK(v.boundBy == "host");
  CHECK(v.healthy == Maybe<bool>(false));
  Finding limit = made("host.cpu_throttled", Phase::kOther, 1.2, Confidence::kHigh);
  std::vector<Finding> own = {limit};  // the job's own limit is no matter of others
  CHECK(verdictOf(j.evidence, own).boundBy == "host");
}

namespace {

std::string boundByOnBusyHost(std::vector<Finding> findings) {
  Facts facts = factsOf(Training{});
  facts.run.externalCpuRatio = 0.5;
  return verdictOf(gather(facts.trace, facts.trainer, facts.run), findings).boundBy;
}

}  // namespace

TEST_CASE("a part of the first finding is no other cause that a busy host leaves as likely") {
  const Finding whole = assumed("transform.in_process", Phase::kTransform, 5, Confidence::kLow);
  const auto beside = [&](const char* id, double speedup) {
    return boundByOnBusyHost({whole, assumed(id, Phase::kTransform, speedup, Confidence::kLow)});
  };
  CHECK(beside("transform.cpu_saturated", 4.9) == "transform");
  CHECK(beside("load.ipc", 4.9) == "unknown");
  CHECK(beside("load.ipc", 1.2) == "transform");
}

TEST_CASE("one cause alone on a busy host has to gain, or to take, more than others use") {
  const auto alone = [](Finding f) {
    f.shareRatio = 0.8;
    return boundByOnBusyHost({f});
  };
  CHECK(alone(made("transform.in_process", Phase::kTransform, 1.6, Confidence::kLow)) == "unknown");
  CHECK(alone(assumed("transform.in_process", Phase::kTransform, 1.6, Confidence::kLow)) ==
        "transform");
  CHECK(boundByOnBusyHost({assumed("transform.in_process", Phase::kTransform, 1.6,
                                   Confidence::kLow)}) == "unknown");
}
