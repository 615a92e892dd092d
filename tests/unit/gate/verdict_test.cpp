// SPDX-License-Identifier: MIT
#include "gate/verdict.h"

#include "gate/outputs.h"
#include "tests/catch.h"
#include "tests/unit/gate/sample_runs.h"

namespace stallprof {
namespace {

using Catch::Matchers::Contains;
using Side = std::vector<GateRun>;

GateResult judged(const Side& base, const Side& head, const Policy& policy = defaultPolicy()) {
  Result<GateResult> result = judgeGate(policy, base, head);
  REQUIRE(result.ok());
  return std::move(result).value();
}

Policy policyOf(const Check& check) {
  Policy policy;
  policy.checks = {check};
  return policy;
}

Check checkOf(const std::string& path, Check::Kind kind, Worse worse = Worse::kHigher) {
  return {.path = path, .kind = kind, .worse = worse};
}

}  // namespace

TEST_CASE("what makes two sides unlike, or a run unfit, is said") {
  std::vector<GateRun> base = {sampleRun("a", 100)}, head = {sampleRun("b", 160)};
  CHECK(notesOn(base, head).empty());
  base[0].batchSizes = {32};
  CHECK(notesOn(base, head).empty());  // the other side's are not known
  head[0].batchSizes = {64};
  head[0].exitCode = 1;
  CHECK(notesOn(base, head) ==
        std::vector<std::string>{"The batch size is 32 in 'a', 64 in 'b'. A step is not the same "
                                 "work: compare samples a second.",
                                 "'b' exited with status 1."});
  head[0].batchSizes = {32};
  head[0].exitCode.reset();
  CHECK(notesOn(base, head) ==
        std::vector<std::string>{"'b' had not ended when its report was made."});
}

TEST_CASE("eight quiet runs a side distinguish a regression, a gain and neither") {
  const Side base = sampleSide(100, 0.01);
  const GateResult worse = judged(base, sampleSide(107, 0.01));
  CHECK(worse.outcome == Outcome::kRegressed);
  CHECK(exitStatus(worse.outcome) == 1);
  CHECK(worse.checks[0].verdict == CheckVerdict::kRegressed);
  CHECK_THAT(worse.headline, Contains("steps a second regressed (-6.5 %"));
  CHECK(judged(base, sampleSide(93, 0.01)).checks[0].verdict == CheckVerdict::kImproved);
  const GateResult same = judged(base, sampleSide(100.5, 0.01));
  CHECK(same.checks[0].verdict == CheckVerdict::kSame);
  CHECK(exitStatus(same.outcome) == 0);
}

TEST_CASE(
    "a loader that makes the training wait fails the gate, though the median step does not wait") {
  const Side base = sampleSide(100, 0.01);
  Side head = base;
  for (GateRun& run : head) run.numbers["steps.rate_per_s"] /= 2;
  const GateResult result = judged(base, head);
  CHECK(result.outcome == Outcome::kRegressed);
  CHECK_THAT(result.headline, Contains("steps a second regressed (-50"));
}

TEST_CASE("steps of other work are not judged") {
  const Side base = sampleSide(100, 0.01);
  Side head = sampleSide(50, 0.01);
  SECTION("another batch size") {
    Side sized = base;
    for (GateRun& run : sized) run.batchSizes = {64};
    for (GateRun& run : head) run.batchSizes = {32};
    const GateResult result = judged(sized, head);
    CHECK(result.outcome == Outcome::kNotComparable);
    CHECK_THAT(result.headline, Contains("batch size is 64 in 'run-0', 32 in 'run-0'"));
    Check samples = checkOf("steps.samples_per_s", Check::Kind::kShift, Worse::kLower);
    for (Side* side : {&sized, &head})
      for (GateRun& run : *side) run.numbers["steps.samples_per_s"] = 640;
    CHECK(judged(sized, head, policyOf(samples)).outcome == Outcome::kPass);
    Check waived = checkOf("steps.time_ns.p50", Check::Kind::kShift);
    waived.waiver = "smaller batches";
    CHECK(judged(sized, head, policyOf(waived)).outcome == Outcome::kPass);
    for (GateRun& run : head) run.batchSizes = {32, 64};  // of evaluation, too
    CHECK(judged(sized, head).outcome == Outcome::kPass);
  }
  SECTION("another source of steps") {
    Side hooked = base;
    for (GateRun& run : hooked) run.stepSource = "hook";
    for (GateRun& run : head) run.stepSource = "optimizer";
    CHECK(judged(hooked, head).outcome == Outcome::kNotComparable);
    Policy warns = defaultPolicy();
    warns.mismatchWarns = true;
    CHECK(judged(hooked, head, warns).outcome == Outcome::kPass);
  }
  SECTION("the head's code on both sides") {
    Side same = base;
    same[2].foreignFile = "/home/user/src/loop.py";
    const GateResult result = judged(same, base);
    CHECK(result.outcome == Outcome::kNotComparable);
    CHECK_THAT(result.headline,
               Contains("'run-2' ran '/home/user/src/loop.py', which is the head's"));
  }
}

TEST_CASE("values of a gate's table are whole, with a space between") {
  Side base = sampleSide(100, 0.01), head = base;
  for (Side* side : {&base, &head})
    for (GateRun& run : *side) run.numbers["run.wall_ns"] = 750.2e9;
  const std::string text =
      gateText(judged(base, head, policyOf(checkOf("run.wall_ns", Check::Kind::kShift))), {});
  CHECK_THAT(text, Contains(" 12 min 30 s 12 min 30 s "));
}

TEST_CASE("a share of waiting that is less because all else is slower is no improvement") {
  const GateResult r =
      judged(sampleSide(100, 0.01, 0.30), sampleSide(400, 0.01, 0.08), defaultPolicy());
  CHECK(r.outcome == Outcome::kRegressed);
  const std::string text = gateText(r, {}), markdown = gateMarkdown(r);
  for (const std::string& said : {text, markdown}) {
    CHECK(said.find("lower") != std::string::npos);
    CHECK(said.find("improved") == std::string::npos);
  }
}

TEST_CASE("a mark at the policy is where the checkout has it") {
  Policy policy = policyOf(checkOf("steps.time_ns.p50", Check::Kind::kBudget));
  policy.checks[0].isMax = true;
  policy.checks[0].bound = 1;
  Side head = sampleSide(100, 0.01);
  for (GateRun& run : head) run.suspects.clear();
  const GateResult r = judged({}, head, policy);
  const auto marked = [&](const char* path) {
    GateOutput options;
    options.directory = "/src/repo/train";
    options.checkout = "/src/repo";
    options.policy = path;
    return gateOutput("github", r, options);
  };
  CHECK_THAT(marked("/src/repo/ci/gate.toml"), Contains("file=ci/gate.toml,"));
  CHECK_THAT(marked("gate.toml"), Contains("file=train/gate.toml,"));
  CHECK_THAT(marked("../ci/gate.toml"), Contains("file=ci/gate.toml,"));
  CHECK_THAT(marked("../../gate.toml"), Contains("file=stallprof-gate.toml,"));
  CHECK_THAT(marked("/else/gate.toml"), Contains("file=stallprof-gate.toml,"));
}

TEST_CASE("a change under three percent does not count, however sure it is") {
  CHECK(judged(sampleSide(100, 0.001), sampleSide(102, 0.001)).checks[0].verdict ==
        CheckVerdict::kSame);
}

TEST_CASE("noise makes a gate unsure, and unsure passes unless the policy fails it") {
  const Side base = sampleSide(100, 0.08), head = sampleSide(105, 0.08);
  const GateResult unsure = judged(base, head);
  CHECK(unsure.checks[0].verdict == CheckVerdict::kInconclusive);
  CHECK(exitStatus(unsure.outcome) == 0);
  CHECK_THAT(unsure.checks[0].why, Contains("these runs can show -"));
  Policy strict = defaultPolicy();
  strict.onInconclusive = OnInconclusive::kFail;
  CHECK(exitStatus(judged(base, head, strict).outcome) == 3);
}

TEST_CASE("CI marks a check that could not decide as the policy says, and never above its level") {
  Policy policy = defaultPolicy();
  policy.checks = {checkOf("steps.time_ns.p50", Check::Kind::kShift),
                   checkOf("steps.rate_per_s", Check::Kind::kShift, Worse::kLower)};
  policy.checks[1].level = Level::kWarn;
  const auto levels = [&](OnInconclusive asked) {
    policy.onInconclusive = asked;
    const GateResult result = judged(sampleSide(100, 0.08), sampleSide(105, 0.08), policy);
    CHECK(result.checks[0].verdict == CheckVerdict::kInconclusive);
    CHECK(result.checks[1].verdict == CheckVerdict::kInconclusive);
    std::vector<Level> out;
    for (const Mark& mark : marksOf(result, {})) out.push_back(mark.level);
    return out;
  };
  using Levels = std::vector<Level>;
  CHECK(levels(OnInconclusive::kPass) == Levels{});
  CHECK(levels(OnInconclusive::kWarn) == Levels{Level::kWarn, Level::kWarn});
  CHECK(levels(OnInconclusive::kFail) == Levels{Level::kError, Level::kWarn});
}

TEST_CASE("a first run without a baseline passes where the policy only warns of that") {
  Policy policy = defaultPolicy();
  policy.missingBaselineWarns = true;
  policy.onInconclusive = OnInconclusive::kFail;
  const GateResult first = judged({}, sampleSide(100, 0.01), policy);
  CHECK(first.outcome == Outcome::kPass);
  CHECK(first.checks[0].why == "no base");
}

TEST_CASE("findings are not judged without a base, and that is no pass in silence") {
  Policy policy;
  policy.findings = {{"extract.*", Level::kError, 3}};
  const Side head = sampleSide(100, 0.01);
  const Result<GateResult> first = judgeGate(policy, {}, head);
  REQUIRE_FALSE(first.ok());
  CHECK_THAT(first.error().message, Contains("no base to compare findings with"));
  policy.missingBaselineWarns = true;
  const GateResult warned = judged({}, head, policy);
  CHECK(warned.outcome == Outcome::kPass);
  CHECK(warned.notes == std::vector<std::string>{
                            "New findings were not judged: no base to compare findings with."});
}

TEST_CASE("the run beside which others used much of the CPU is named") {
  Side base = sampleSide(100, 0.01), head = sampleSide(100, 0.01);
  base[1].numbers["resources.external_cpu_ratio"] = 0.09;
  CHECK(notesOn(base, head).empty());
  base[1].numbers["resources.external_cpu_ratio"] = 0.3;
  head[2].numbers["resources.external_cpu_ratio"] = 0.57;
  head[2].path = "busy.stallprof";
  const std::vector<std::string> notes = notesOn(base, head);
  REQUIRE(notes.size() == 1);
  CHECK_THAT(notes[0], Contains("57 % of the usable cores in 'busy.stallprof': they may be why"));
}

TEST_CASE("one run that is named twice is no two runs") {
  const Side base = sampleSide(100, 0.01);
  Side head = sampleSide(100, 0.01);
  head[1].identity = head[4].identity = "2026-11-30T03:17:31Z 30689586976";
  head[1].path = "a.stallprof";
  head[4].path = "a.json";
  const Result<GateResult> twice = judgeGate(defaultPolicy(), base, head);
  REQUIRE_FALSE(twice.ok());
  CHECK(twice.error().message == "'a.stallprof' and 'a.json' are one run: each counts once");
  head[4].identity = "2026-11-30T03:17:31Z 30689586977";
  CHECK(judgeGate(defaultPolicy(), base, head).ok());
  Side other = base;
  other[2].identity = head[1].identity;
  other[2].path = "base.json";
  const Result<GateResult> itself = judgeGate(defaultPolicy(), other, head);
  REQUIRE_FALSE(itself.ok());
  CHECK(itself.error().message ==
        "'a.stallprof' is 'base.json' of the other side: a run compared with itself shows nothing");
  const auto read = readGateRun("x", R"({"schema": "stallprof.report/1",
    "run": {"started_at": "2026-11-30T03:17:31Z", "wall_ns": 30689586976}})");
  REQUIRE(read.ok());
  CHECK(read.value().identity == head[1].identity);
}

TEST_CASE("one slow run in eight hides no regression, and fakes none") {
  // Real runs on a shared host (reports/gate.md): the last of the base met a busy neighbour.
  const auto side = [](const std::vector<double>& milliseconds) {
    Side runs = sampleSide(100, 0.01);
    for (std::size_t i = 0; i < runs.size(); ++i)
      runs[i].numbers["steps.rate_per_s"] = 1000 / milliseconds[i];
    return runs;
  };
  const Side base = side({110.8, 106.4, 106.7, 106.2, 105.4, 106.6, 106.8, 133.1});
  const Side same = side({105.3, 103.8, 108.3, 109.0, 107.4, 105.6, 104.9, 109.6});
  const Side dearer = side({113.1, 108.7, 109.5, 113.4, 115.6, 111.5, 113.3, 112.6});
  CHECK(judged(base, dearer).checks[0].verdict == CheckVerdict::kRegressed);
  CHECK(judged(base, same).checks[0].verdict == CheckVerdict::kSame);
  CHECK(judged(same, base).checks[0].verdict != CheckVerdict::kRegressed);
  CHECK(judged(same, dearer).checks[0].verdict == CheckVerdict::kRegressed);
}

TEST_CASE("one run a side is advice, unless its threshold is wide") {
  const Side base = sampleSide(100, 0, 0.1, 1), head = sampleSide(130, 0, 0.1, 1);
  const GateResult advice = judged(base, head);
  CHECK(advice.checks[0].advisory);
  CHECK(exitStatus(advice.outcome) == 0);
  Check wide = checkOf("steps.time_ns.p50", Check::Kind::kShift);
  wide.singleRun = 0.20;
  CHECK(exitStatus(judged(base, head, policyOf(wide)).outcome) == 1);
  CHECK(exitStatus(judged(base, sampleSide(115, 0, 0.1, 1), policyOf(wide)).outcome) == 0);
}

TEST_CASE("four runs a side are too few for a verdict, five are not") {
  CHECK(judged(sampleSide(100, 0.01, 0.1, 4), sampleSide(200, 0.01, 0.1, 4)).checks[0].advisory);
  CHECK(judged(sampleSide(100, 0.01, 0.1, 5), sampleSide(200, 0.01, 0.1, 5)).outcome ==
        Outcome::kRegressed);
}

TEST_CASE("a rate is worse when it falls") {
  const Policy policy = policyOf(checkOf("steps.rate_per_s", Check::Kind::kShift, Worse::kLower));
  CHECK(judged(sampleSide(100, 0.01), sampleSide(110, 0.01), policy).outcome ==
        Outcome::kRegressed);
  CHECK(judged(sampleSide(110, 0.01), sampleSide(100, 0.01), policy).checks[0].verdict ==
        CheckVerdict::kImproved);
}

TEST_CASE("a budget holds the head alone, above or below") {
  Check wait = checkOf("breakdown.ratio.data_wait", Check::Kind::kBudget);
  wait.bound = 0.15;
  Check busy = checkOf("verdict.au_ratio", Check::Kind::kBudget, Worse::kLower);
  busy.bound = 0.80;
  busy.isMax = false;
  Policy policy = policyOf(wait);
  policy.checks.push_back(busy);
  CHECK(judged({}, sampleSide(100, 0.01, 0.15), policy).outcome == Outcome::kPass);
  const GateResult over = judged({}, sampleSide(100, 0.01, 0.25), policy);
  CHECK(over.outcome == Outcome::kRegressed);
  CHECK(over.checks[0].verdict == CheckVerdict::kOverBudget);
  CHECK(over.checks[1].verdict == CheckVerdict::kOverBudget);
  CHECK_THAT(over.headline, Contains("budget: at most 15 %"));
}

TEST_CASE("the change beside a budget is that of the same metric's comparison") {
  Policy policy = policyOf(checkOf("steps.time_ns.p50", Check::Kind::kShift));
  policy.checks.push_back(checkOf("steps.time_ns.p50", Check::Kind::kBudget));
  policy.checks.back().bound = 1e12;
  Side head = sampleSide(110, 0.01);
  head[0].numbers["steps.time_ns.p50"] *= 3;  // moves a mean, and hardly a median
  const GateResult r = judged(sampleSide(100, 0.01), head, policy);
  REQUIRE(r.checks[0].change);
  CHECK(std::abs(*r.checks[0].change - 0.1) < 0.02);
  CHECK(r.checks[0].change == r.checks[1].change);
}

TEST_CASE("a counter that must not change may not, and one that is not steady is not judged") {
  const Policy policy = policyOf(checkOf("steps.count", Check::Kind::kExact, Worse::kNeither));
  const Side base = sampleSide(100, 0.05, 0.1, 1);
  Side head = base;
  CHECK(judged(base, head, policy).checks[0].verdict == CheckVerdict::kSame);
  head[0].numbers["steps.count"] = 501;
  CHECK(judged(base, head, policy).outcome == Outcome::kRegressed);
  Side shaky = sampleSide(100, 0.05, 0.1, 2);
  shaky[1].numbers["steps.count"] = 499;
  CHECK(judged(shaky, head, policy).checks[0].verdict == CheckVerdict::kInconclusive);
}

TEST_CASE("other hosts, and commands that failed, are not judged") {
  const Side base = sampleSide(100, 0.01);
  Side head = sampleSide(100, 0.01);
  head[3].host.cpuModel = "Another \x1b[2J CPU";
  const GateResult other = judged(base, head);
  CHECK(exitStatus(other.outcome) == 3);
  CHECK_THAT(other.headline, Contains("cpu_model"));
  CHECK(other.headline.find('\x1b') == std::string::npos);
  Policy lenient = defaultPolicy();
  lenient.mismatchWarns = true;
  CHECK(judged(base, head, lenient).outcome == Outcome::kPass);
  lenient.mismatchWarns = false;
  lenient.match = {"cores"};
  CHECK(judged(base, head, lenient).outcome == Outcome::kPass);
  head[5].exitCode = 1;
  CHECK(exitStatus(judged(base, head).outcome) == 4);
  head[5].exitCode.reset();
  head[5].exitSignal = 9;
  CHECK_THAT(judged(base, head).headline, Contains("'run-5' died of signal 9"));
  // A base that failed first may have kept every head from being run.
  CHECK(exitStatus(judged({head[5]}, {}).outcome) == 4);
  CHECK_FALSE(judgeGate(defaultPolicy(), base, {}).ok());
}

TEST_CASE("a run that --steps ended is judged") {
  const Side base = sampleSide(100, 0.01);
  Side head = base;
  for (GateRun& run : head) {
    run.exitCode.reset();
    run.exitSignal = 15;
    run.endedAsAsked = true;
  }
  CHECK(judged(base, head).outcome == Outcome::kPass);
  CHECK(notesOn(base, head).empty());
}

TEST_CASE("a recording that is cut off is not judged") {
  const Side base = sampleSide(100, 0.01);
  Side head = base;
  head[2].cutOff = true;
  Policy policy = defaultPolicy();
  policy.mismatchWarns = true;  // of hosts and work, not of this
  const GateResult result = judged(base, head, policy);
  CHECK(result.outcome == Outcome::kNotComparable);
  CHECK_THAT(result.headline, Contains("'run-2' has no end"));
}

TEST_CASE("a metric that a run lacks is an error, but for one that is only shown") {
  const Side base = sampleSide(100, 0.01);
  Side head = sampleSide(100, 0.01);
  head[2].numbers.erase("breakdown.ratio.data_wait");
  CHECK(judged(base, head).checks[2].verdict == CheckVerdict::kNotMeasured);
  head[2].numbers.erase("steps.rate_per_s");
  const auto result = judgeGate(defaultPolicy(), base, head);
  REQUIRE(!result.ok());
  CHECK(result.error().kind == Error::Kind::kUsage);
  CHECK_THAT(result.error().message, Contains("'run-2' has no steps.rate_per_s"));
  CHECK(!judgeGate(defaultPolicy(), {}, base).ok());
  CHECK(!judgeGate(defaultPolicy(), base, {}).ok());
}

TEST_CASE("a waiver shows a regression and lets it pass") {
  Check check = checkOf("steps.time_ns.p50", Check::Kind::kShift);
  check.waiver = "larger batches";
  const GateResult result = judged(sampleSide(100, 0.01), sampleSide(150, 0.01), policyOf(check));
  CHECK(result.checks[0].verdict == CheckVerdict::kRegressed);
  CHECK(result.outcome == Outcome::kPass);
}

TEST_CASE("checks that can fail share alpha") {
  Policy policy = policyOf(checkOf("steps.time_ns.p50", Check::Kind::kShift));
  CHECK(alphaOf(policy.checks[0], policy) == policy.alpha);
  policy.checks.push_back(checkOf("steps.rate_per_s", Check::Kind::kShift, Worse::kLower));
  CHECK(alphaOf(policy.checks[0], policy) == policy.alpha / 2);
  policy.checks[1].level = Level::kInfo;
  CHECK(alphaOf(policy.checks[0], policy) == policy.alpha);
}

TEST_CASE("a finding is new when every run of the head has it and none of the base") {
  const Side base = sampleSide(100, 0.01);
  Side head = sampleSide(100, 0.01);
  for (GateRun& run : head) run.suspects.push_back({"load.ipc", "Pickling", "data.py", 7, 0.2});
  Policy policy = defaultPolicy();
  policy.findings = {{"load.*", Level::kError, 3}};
  const GateResult found = judged(base, head, policy);
  CHECK(found.outcome == Outcome::kRegressed);
  REQUIRE(found.newFindings.size() == 1);
  CHECK_THAT(found.headline, Contains("new: load.ipc at data.py:7"));
  // Of fewer runs than the policy asks for nothing fails.
  const GateResult few =
      judged(Side(base.begin(), base.begin() + 1), Side(head.begin(), head.begin() + 1), policy);
  REQUIRE(few.newFindings.size() == 1);
  CHECK(few.newFindings[0].level == Level::kWarn);
  CHECK(few.outcome == Outcome::kPass);
  head[6].suspects.pop_back();
  CHECK(judged(base, head, policy).outcome == Outcome::kPass);
}

TEST_CASE("that nothing holds a run up any longer is no new finding") {
  const auto runOf = [](const char* id) {
    const auto run = readGateRun(
        "run", std::string(R"({"schema": "stallprof.report/1", "findings": [{"id": ")") + id +
                   R"(", "title": "t", "share_ratio": 0.9}]})");
    REQUIRE(run.ok());
    return run.value();
  };
  CHECK(runOf("compute.cpu_bound").suspects.empty());
  CHECK(runOf("compute.device_bound").suspects.empty());
  CHECK(runOf("compute.sync_points").suspects.size() == 1);
}

TEST_CASE("a new finding is marked at its own line, and each check of a metric by its own name") {
  const Side base = sampleSide(100, 0.01);
  Side head = sampleSide(120, 0.01);
  for (GateRun& run : head)
    run.suspects = {{"load.ipc", "Pickling", "data.py", 7, 0.2},
                    {"transform.slow_op", "Slow", "train.py", 31, 0.1}};
  Policy policy = policyOf(checkOf("steps.time_ns.p50", Check::Kind::kShift));
  policy.checks.push_back(checkOf("steps.time_ns.p50", Check::Kind::kBudget));
  policy.checks.back().bound = 110e6;
  policy.findings = {{"transform.*", Level::kError, 3}};
  Side without = base;
  for (GateRun& run : without) run.suspects.clear();
  const std::vector<Mark> marks = marksOf(judged(without, head, policy), {});
  for (GateRun& run : head)
    for (auto& suspect : run.suspects) suspect.file = "/home/me/repo/data.py";
  const auto fileIn = [&](const std::string& checkout) {
    GateOutput options;
    options.checkout = checkout;
    return marksOf(judged(without, head, policy), options).at(0).file;
  };
  CHECK(fileIn("/home/me/repo") == "data.py");
  CHECK(fileIn("/home/me/repo/") == "data.py");
  CHECK(fileIn("/") == "home/me/repo/data.py");
  for (const char* other : {"", "/home/me/rep", "/elsewhere"})
    CHECK(fileIn(other) == "stallprof-gate.toml");
  REQUIRE(marks.size() == 3);
  CHECK(marks[0].id == "gate/steps.time_ns.p50");
  CHECK(marks[0].file == "data.py");
  CHECK(marks[1].id == "gate/steps.time_ns.p50/max");
  CHECK(marks[2].id == "gate/transform.slow_op");
  CHECK(marks[2].file == "train.py");
  CHECK(marks[2].line == 31);
}

TEST_CASE("what has no factor, as some of it is zero, is judged by the order of the runs") {
  Check check = checkOf("resources.shm_bytes", Check::Kind::kShift);
  const auto judgedAs = [&](const std::vector<double>& base, const std::vector<double>& head) {
    const auto side = [&](const std::vector<double>& values) {
      Side runs = sampleSide(100, 0.01, 0.1, values.size());
      for (std::size_t i = 0; i < values.size(); ++i)
        runs[i].numbers["resources.shm_bytes"] = values[i];
      return runs;
    };
    return judged(side(base), side(head), policyOf(check)).checks[0].verdict;
  };
  const std::vector<double> none(6, 0.0), much = {6e9, 6.1e9, 6.2e9, 5.9e9, 6e9, 6e9};
  CHECK(judgedAs(none, none) == CheckVerdict::kSame);
  CHECK(judgedAs(none, much) == CheckVerdict::kRegressed);
  CHECK(judgedAs(much, none) == CheckVerdict::kImproved);
  CHECK(judgedAs({0, 1e9, 0, 2e9, 0, 1e9}, {1e9, 0, 0, 1e9, 2e9, 0}) ==
        CheckVerdict::kInconclusive);
  CHECK(judgedAs({0, 0}, {6e9, 6e9}) == CheckVerdict::kInconclusive);
  check.minAbsolute = 10e9;
  CHECK(judgedAs(none, much) == CheckVerdict::kSame);
}

TEST_CASE("a change beyond its limit that min_abs leaves out says so") {
  Check check = checkOf("steps.time_ns.p50", Check::Kind::kShift);
  check.minAbsolute = 1e9;
  const auto of = [&](double factor, std::size_t runs) {
    const CheckResult r = judged(sampleSide(100, 0.01, 0.1, runs),
                                 sampleSide(100 * factor, 0.01, 0.1, runs), policyOf(check))
                              .checks[0];
    CHECK(r.verdict == CheckVerdict::kSame);
    return r.why;
  };
  CHECK_THAT(of(1.5, 8), Contains("differs by less than min_abs"));
  CHECK_THAT(of(1.0, 8), !Contains("min_abs"));
  check.singleRun = 0.1;
  CHECK_THAT(of(1.5, 1), Contains("differs by less than min_abs"));
}

TEST_CASE("too few steps in a window are not judged") {
  Policy policy = defaultPolicy();
  policy.minSteps = 1000;
  CHECK(judged(sampleSide(1, 0.01), sampleSide(1, 0.01), policy).outcome ==
        Outcome::kNotComparable);
}

}  // namespace stallprof
