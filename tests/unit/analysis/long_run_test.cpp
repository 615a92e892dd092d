// SPDX-License-Identifier: MIT
#include "analysis/analyze.h"
#include "analysis/blame/facts_accumulator.h"
#include "base/splitmix64.h"
#include "tests/catch.h"
#include "tests/unit/analysis/near.h"
#include "trace/trace_builder.h"

using namespace stallprof;
using namespace std::chrono_literals;
using stallprof::test::near;

namespace {

constexpr Nanos kBegin = 100s;
constexpr int kPass = 2500;                        // steps
constexpr std::uint32_t kForever = 1000;           // epoch of an iterator for all evaluations
constexpr int kSlowest = 3210;                     // stands for nine seconds
constexpr std::size_t kRows = 6000, kHeld = 6144;  // with 2,048 at each end

// Fed to a reader one by one: each part ends with the row that makes it full.
class Events {
 public:
  [[nodiscard]] Strings& strings() { return strings_; }
  void take(const Event& event) { events_.push_back(event); }

  [[nodiscard]] EventSource source() const {
    return [this, next = std::size_t{0}](TraceBuilder& builder) mutable -> Result<bool> {
      if (next == 0)
        for (std::uint32_t id = 1; id <= strings_.size(); ++id)
          (void)builder.strings().intern(strings_.at(StringId{id}));
      if (next == events_.size()) return false;
      builder.take(events_[next++]);
      return true;
    };
  }

 private:
  Strings strings_;
  std::vector<Event> events_;
};

struct Shape {
  int steps = 20'000;
  int ranks = 1;                                // that train side by side, a process each
  int accumulate = 1;                           // batches an update
  bool loader = true;                           // false: nothing but an optimizer
  bool evaluates = false, oneIterator = false;  // the second: for all of its evaluations
  bool modes = false;     // evaluates from eval() to train(), without a loader
  bool device = false;    // traced for one second in four
  bool compiles = false;  // a fifth of each step
};

// Steps of 20 ms and somewhat more: two workers that decode for 30 ms and read for 8, an epoch
// every kPass steps with workers kept, a checkpoint every 1000.
class Rank {
 public:
  Rank(Events& out, const Shape& shape, std::uint32_t rank)
      : out_(out),
        shape_(shape),
        first_(1 + 3 * rank),
        gpu_(out.strings().intern("GPU-1")),
        compile_(out.strings().intern("jax.compile update: x float32[9]")),
        evaluation_(out.strings().intern("evaluation")) {
    for (std::uint32_t p = first_; p < first_ + 3; ++p) {
      const ProcessId parent{p == first_ ? 0 : first_};
      out_.take({kBegin, ProcessSeen{ProcessId{p}, parent, 100 + p, 0, {}, {}, {}}});
      out_.take({kBegin, ThreadSeen{ThreadId{p}, ProcessId{p}, 100 + p, {}}});
    }
    if (!shape_.loader) return;
    LoaderSeen loader;
    loader.process = process();
    loader.loader = 1;
    loader.workers = 2;
    loader.prefetch = 2;
    loader.kind = out_.strings().intern("torch.DataLoader");
    loader.batchSize = 32;
    loader.persistent = true;
    out_.take({kBegin, loader});
    loader.loader = 2;
    loader.workers = 0;
    loader.prefetch = -1;
    if (shape_.evaluates) out_.take({kBegin, loader});
    if (shape_.oneIterator)
      out_.take({kBegin, IteratorBegin{thread(), 2, kForever, 999, 1ms, 1ms, false}});
  }

  void step(int number) {
    if (number % kPass == 0 && shape_.loader) epoch(number > 0);
    const std::uint64_t hash = splitmix64(static_cast<std::uint64_t>(number));
    const Nanos wait = 4ms + Nanos(static_cast<Nanos::rep>(hash % 4'000'000));
    const Nanos compute =
        number == kSlowest ? 9s : 14ms + Nanos(static_cast<Nanos::rep>(hash / 7 % 2'000'000));
    if (shape_.loader) fetch(number % kPass, wait);
    const Nanos length = wait + 1ms + compute;
    if (number % shape_.accumulate == shape_.accumulate - 1)
      out_.take({at_ + length - 2ms, OptimizerStep{thread(), 2ms, 1}});
    if (shape_.device) works(wait, compute);
    if (shape_.compiles)
      out_.take(
          {at_ + wait + 2ms,
           PhaseSpan{thread(), length / 5, Phase::kCompute, SpanSource::kHook, compile_, {}, 7}});
    out_.take({at_, ThreadSlice{thread(), Wait::kPipe, length, compute, 1us, {}, 2}});
    at_ += length;
    if (number % 1000 == 999) {
      out_.take({at_, PhaseSpan{thread(), 300ms, Phase::kPeriodic, SpanSource::kHook, {}, {}, 0}});
      at_ += 300ms;
    }
    // Ranks do at different times: parts end amid those of one.
    if (shape_.modes && number % 500 == static_cast<int>(first_) * 40) {
      constexpr auto kLength = 20s;
      out_.take(
          {at_,
           PhaseSpan{thread(), kLength, Phase::kPeriodic, SpanSource::kHook, evaluation_, {}, 0}});
      at_ += kLength;
    }
  }

  void end() { out_.take({at_ + 1s, CommandEnd{0, -1, 0}}); }

 private:
  [[nodiscard]] ProcessId process() const { return ProcessId{first_}; }
  [[nodiscard]] ThreadId thread() const { return ThreadId{first_}; }
  [[nodiscard]] ThreadId worker(int number) const {
    return ThreadId{first_ + 1 + static_cast<std::uint32_t>(number % 2)};
  }
  [[nodiscard]] std::uint64_t key() const { return first_ * 1000u + epoch_; }

  void epoch(bool evaluate) {
    if (evaluate && shape_.evaluates) {
      const std::uint32_t epoch = shape_.oneIterator ? kForever : ++epoch_;
      if (!shape_.oneIterator)
        out_.take({at_, IteratorBegin{thread(), 2, epoch, key(), 1ms, 1ms, false}});
      for (int i = 0; i < 100; ++i, at_ += 8ms)
        out_.take({at_ + 1ms, Fetch{thread(), 2, epoch, 5ms, 4ms, i, -1, 0, false, {}}});
    }
    ++epoch_;
    out_.take({at_, IteratorBegin{thread(), 1, epoch_, key(), 5ms, 1ms, epoch_ > 1}});
    for (int w = 0; w < 2; ++w) out_.take({at_ + 1ms, WorkerBegin{worker(w), key(), w, 2}});
    at_ += 5ms;
  }

  // Its batch is ready when the wait ends: 30 ms on a CPU, 8 ms in a file.
  void fetch(int batch, Nanos wait) {
    WorkerTask task;
    task.thread = worker(batch);
    task.key = key();
    task.worker = batch % 2;
    task.batch = batch;
    task.fetchEnd = 38ms;
    task.putEnd = 38ms;
    task.cpu = 30ms;
    out_.take({at_ + wait - 38ms, task});
    out_.take(
        {at_ + wait - 38ms, ThreadSlice{task.thread, Wait::kFileRead, 38ms, 30ms, {}, {}, 4}});
    out_.take({at_, Fetch{thread(), 1, epoch_, wait + 1ms, 1ms, batch, batch % 2, 0, false, {}}});
  }

  // Half of the compute, and a quarter of the wait for the next batch.
  void works(Nanos wait, Nanos compute) {
    if (at_ >= traced_) {
      out_.take({at_, DeviceTrace{process(), 1s, true, false, false}});
      traced_ = at_ + 4s;
    }
    if (at_ > traced_ - 3s) return;
    DeviceSpan span;
    span.device = gpu_;
    span.process = process();
    span.works = 10;
    span.duration = span.busy = compute / 2;
    out_.take({at_ + wait + 2ms, span});
    span.duration = span.busy = wait / 4;
    out_.take({at_, span});
  }

  Events& out_;
  const Shape shape_;
  const std::uint32_t first_;
  const StringId gpu_, compile_, evaluation_;
  Nanos at_ = kBegin + 1s, traced_{};
  std::uint32_t epoch_ = 0;
};

void train(Events& out, const Shape& shape) {
  std::vector<Rank> ranks;
  for (int r = 0; r < shape.ranks; ++r)
    ranks.emplace_back(out, shape, static_cast<std::uint32_t>(r));
  for (int i = 0; i < shape.steps; ++i)
    for (Rank& rank : ranks) rank.step(i);
  ranks[0].end();
}

struct RunRead {
  Trace trace;
  Analyzed analyzed;
  std::size_t maxRows = 0;  // of fetches, whenever a part had been read
};

RunRead read(const Shape& shape, bool parts) {
  Events events;
  train(events, shape);
  TraceBounds bounds = TraceBounds::none();
  if (parts) bounds.program = kRows;
  FactsAccumulator run(RuleTable::builtIn(), kHeld);
  RunRead out;
  TraceBuilder builder(bounds);
  const EventSource source = events.source();
  while (builder.fill(source).value()) {
    const Trace& part = builder.part();
    out.maxRows = std::max(out.maxRows, part.fetches.size());
    builder.release(run.add(part));
  }
  out.trace = builder.seal();
  out.analyzed = analyzeWithFacts(out.trace, run);
  return out;
}

// The run of no special shape, read once for all tests that ask for it.
const RunRead& plainRun(bool parts) {
  if (parts) {
    static const RunRead inParts = read({}, true);
    return inParts;
  }
  static const RunRead whole = read({}, false);
  return whole;
}

bool nearTime(Nanos a, Nanos b, double part) {
  return near(seconds(a), seconds(b), part * seconds(b));
}

std::string idsOf(const Analysis& a) {
  std::string ids;
  for (const Finding& f : a.findings) ids += f.id + " ";
  return ids;
}

}  // namespace

TEST_CASE("a run read in parts is counted and summed as one read as a whole") {
  const RunRead &whole = plainRun(false), &parts = plainRun(true);
  const Analysis &a = whole.analyzed.analysis, &b = parts.analyzed.analysis;
  CHECK(b.steps.count == a.steps.count);
  CHECK(b.steps.windowCount == a.steps.windowCount);
  CHECK(b.steps.optimizerSteps == a.steps.optimizerSteps);
  CHECK(b.steps.window == a.steps.window);
  CHECK(near(*b.steps.ratePerSecond, *a.steps.ratePerSecond, 1e-9));
  CHECK(near(b.breakdown.ratio->compute, a.breakdown.ratio->compute, 1e-6));
  CHECK(near(b.breakdown.ratio->dataWait, a.breakdown.ratio->dataWait, 1e-6));
  CHECK(near(b.breakdown.ratio->load, a.breakdown.ratio->load, 1e-6));
  CHECK(near(b.breakdown.ratio->periodic, a.breakdown.ratio->periodic, 1e-6));
  CHECK(near(b.breakdown.blame->extract, a.breakdown.blame->extract, 1e-3));
  CHECK(near(b.breakdown.blame->transform, a.breakdown.blame->transform, 1e-3));
  CHECK(parts.analyzed.trainer.split.total() == parts.analyzed.trainer.window());
  REQUIRE(b.epochs.size() == a.epochs.size());
  for (std::size_t i = 0; i < a.epochs.size(); ++i) {
    CHECK(b.epochs[i].steps == a.epochs[i].steps);
    CHECK(b.epochs[i].wall == a.epochs[i].wall);
    CHECK(near(*b.epochs[i].dataWaitRatio, *a.epochs[i].dataWaitRatio, 1e-6));
  }
}

TEST_CASE("a run read in parts is reported as one read as a whole, and that it was is said") {
  const RunRead &whole = plainRun(false), &parts = plainRun(true);
  const Analysis &a = whole.analyzed.analysis, &b = parts.analyzed.analysis;
  CHECK(idsOf(b) == idsOf(a));
  CHECK(b.verdict.boundBy == a.verdict.boundBy);
  CHECK(b.verdict.confidence == a.verdict.confidence);
  REQUIRE(!a.findings.empty());
  CHECK(near(b.findings[0].shareRatio, a.findings[0].shareRatio, 1e-3));
  REQUIRE((a.steps.time && b.steps.time));
  CHECK(nearTime(b.steps.time->mean, a.steps.time->mean, 1e-3));
  CHECK(nearTime(b.steps.time->p50, a.steps.time->p50, 0.02));
  CHECK(nearTime(b.steps.time->p95, a.steps.time->p95, 0.02));
  CHECK(nearTime(b.steps.time->p99, a.steps.time->p99, 0.02));
  CHECK(a.coverage.sources.empty());
  REQUIRE(b.coverage.sources.size() == 1);
  CHECK(b.coverage.sources[0].name == "steps");
  CHECK(b.coverage.sources[0].why.find(" of 20000 steps") != std::string::npos);
}

TEST_CASE("so is one of ranks, of accumulated gradients, without a loader, or with a device") {
  Shape shape;
  SECTION("ranks") { shape.ranks = 2; }
  SECTION("accumulated gradients") { shape.accumulate = 4; }
  SECTION("no loader") { shape.loader = false; }
  SECTION("evaluation") { shape.evaluates = true; }
  SECTION("evaluation by one iterator") { shape.evaluates = shape.oneIterator = true; }
  SECTION("evaluation without a loader, of ranks") {
    shape.modes = true;
    shape.ranks = 2;
  }
  SECTION("a device") { shape.device = true; }
  SECTION("compilations") { shape.compiles = true; }
  const RunRead whole = read(shape, false), parts = read(shape, true);
  const Analysis &a = whole.analyzed.analysis, &b = parts.analyzed.analysis;
  REQUIRE(b.trainers.size() == a.trainers.size());
  CHECK(parts.analyzed.others.size() + 1 == a.trainers.size());
  for (std::size_t i = 0; i < a.trainers.size(); ++i) {
    const TrainerInfo &all = a.trainers[i], &some = b.trainers[i];
    CHECK(some.steps.count == all.steps.count);
    CHECK(some.steps.windowCount == all.steps.windowCount);
    CHECK(some.steps.window == all.steps.window);
    CHECK(some.steps.optimizerSteps == all.steps.optimizerSteps);
    // What was not traced is estimated from what was, in each part from its own.
    const double apart = shape.device ? 0.002 : 1e-6;
    CHECK(near(some.breakdown.ratio->compute, all.breakdown.ratio->compute, apart));
    CHECK(near(some.breakdown.ratio->dataWait, all.breakdown.ratio->dataWait, apart));
    CHECK(near(some.breakdown.ratio->periodic, all.breakdown.ratio->periodic, apart));
    REQUIRE((all.steps.time && some.steps.time));
    CHECK(nearTime(some.steps.time->mean, all.steps.time->mean, 1e-3));
    CHECK(nearTime(some.steps.time->p50, all.steps.time->p50, 0.02));
    CHECK(nearTime(some.steps.time->p95, all.steps.time->p95, 0.02));
  }
  CHECK(idsOf(b) == idsOf(a));
  for (std::size_t i = 0; shape.modes && i < a.findings.size(); ++i)
    if (a.findings[i].id == "periodic.evaluation") {
      CHECK(a.findings[i].shareRatio > 0.3);
      CHECK(near(b.findings[i].shareRatio, a.findings[i].shareRatio, 1e-3));
    }
  for (std::size_t i = 0; shape.compiles && i < a.findings.size(); ++i)
    CHECK(near(b.findings[i].shareRatio, a.findings[i].shareRatio, 0.01));
  CHECK((idsOf(a).find("compute.recompilation") != std::string::npos) == shape.compiles);
  CHECK(b.verdict.boundBy == a.verdict.boundBy);
  CHECK(b.epochs.size() == a.epochs.size());
  CHECK(parts.analyzed.trainer.epochs.size() == whole.analyzed.trainer.epochs.size());
  CHECK(b.device.has_value() == a.device.has_value());
  CHECK(parts.analyzed.trainer.joined.steps > 13'000);
}

TEST_CASE("a run four times as long holds no more steps and rows") {
  const RunRead some = read({10'000}, true), more = read({40'000}, true);
  for (const RunRead* run : {&some, &more}) {
    const TrainerFacts& trainer = run->analyzed.trainer;
    CHECK(trainer.steps.size() <= kHeld);
    CHECK(trainer.works.size() <= trainer.steps.size());
    CHECK(run->maxRows <= 5 * kRows / 2);
    CHECK(run->trace.fetches.size() <= 5 * kRows / 2);
    CHECK(run->trace.tasks.size() <= 5 * kRows / 2);
  }
  CHECK(more.analyzed.trainer.stepCount() == 40'000);
  CHECK(more.maxRows < some.maxRows * 3 / 2);
  CHECK(more.trace.loaders.size() == 1);
  CHECK(more.trace.iterators.size() == 16);
  CHECK(more.trace.spans.size() == 40);
}

TEST_CASE(
    "the first, the slowest and the last steps of a long run stay, with their fetches and "
    "batches") {
  const RunRead& run = plainRun(true);
  const TrainerFacts& trainer = run.analyzed.trainer;
  std::size_t slowest = trainer.warmup;
  for (std::size_t i = slowest; i < trainer.steps.size(); ++i) {
    CHECK((i == 0 || trainer.steps[i].number > trainer.steps[i - 1].number));
    const auto length = [&](std::size_t at) {
      return trainer.steps[at].end - trainer.steps[at].begin;
    };
    if (length(i) > length(slowest)) slowest = i;
  }
  const Step& step = trainer.steps[slowest];
  CHECK(step.number == kSlowest);
  for (const std::size_t i : {std::size_t{0}, slowest, trainer.steps.size() - 1}) {
    CHECK(trainer.detailed(i));
    const Step& annotated = trainer.steps[i];
    const auto fetch = std::find_if(run.trace.fetches.begin(), run.trace.fetches.end(),
                                    [&](const auto& row) { return row.at == annotated.begin; });
    REQUIRE(fetch != run.trace.fetches.end());
    const auto task = std::find_if(run.trace.tasks.begin(), run.trace.tasks.end(), [&](auto& row) {
      return row.data.key == 1000 + annotated.epoch && row.data.batch == annotated.batch;
    });
    CHECK(task != run.trace.tasks.end());
  }
}

TEST_CASE("what joined steps were is in the sums of all") {
  const TrainerFacts& whole = plainRun(false).analyzed.trainer;
  const TrainerFacts& parts = plainRun(true).analyzed.trainer;
  const auto all = [](const TrainerFacts& t) {
    Split sum = t.joined.split;
    for (std::size_t i = t.warmup; i < t.steps.size(); ++i) sum += t.steps[i].split;
    return sum;
  };
  CHECK(whole.joined.steps == 0);
  CHECK(parts.joined.steps > 13'000);
  CHECK(all(parts).total() == all(whole).total());
  CHECK(all(parts).wait == all(whole).wait);
  CHECK(parts.joined.works + parts.works.size() == whole.works.size());
}
