// SPDX-License-Identifier: MIT
// Data that are made again from the same files: how often, and what making them once gains.
#include "analysis/describe/resources.h"
#include "tests/unit/analysis/facts_builder.h"

using namespace stallprof;
using namespace stallprof::test;
using namespace std::chrono_literals;

namespace {

using Files = std::vector<std::pair<std::string, std::int64_t>>;  // as seen, one each second

// Of process 1, which read `read` bytes meanwhile.
Maybe<Rereads> seen(const Files& files, double read) {
  std::string text = kTrainer;
  int second = 0;
  for (const auto& [path, size] : files)
    text += std::to_string(++second) + "s file process=1 path=\"" + path +
            "\" size=" + std::to_string(size) + "\n";
  const auto makers = [](const ProcessLife& p) { return p.id == ProcessId{1}; };
  return rereads(traceOf(text), makers, read, Interval{0s, 1000s});
}

Files times(std::size_t n, const std::string& path, std::int64_t size) {
  return Files(n, {path, size});
}

// 30 ms of a step are computed and 70 made before it; of this `parsed` is a library's parsing.
Facts madeWith(double parsed, Maybe<Rereads> read) {
  Training t;
  t.workers = 0;
  t.compute = 30;
  t.waitTransform = 70;
  t.batchCpu = 70;
  Facts f = factsOf(t);
  for (const bool parses : {true, false}) {
    FunctionSamples of;
    of.side = Side::kProducer;
    of.phase = Phase::kTransform;
    of.rule = parses ? "python.parse" : "own.producer";
    of.samples = of.running = 100 * (parses ? parsed : 1 - parsed);
    f.trainer.stacks.functions.push_back(of);
  }
  f.run.memoryAvailable = 100'000'000;
  f.run.rereads = std::move(read);
  return f;
}

const Rereads kRead{.times = 9, .bytes = 20e6, .path = "/data/a.h5", .files = 1};

}  // namespace

TEST_CASE("files that are held open are read again where more bytes were read than twice theirs") {
  const Maybe<Rereads> read = seen(times(8, "/data/a.h5", 5'000'000), 45e6);
  REQUIRE(read);
  CHECK(equals(read->times, 9));
  CHECK(equals(read->bytes, 5e6));
  CHECK(read->path == "/data/a.h5");
  CHECK(read->files == 1);
  CHECK_FALSE(seen(times(8, "/data/a.h5", 5'000'000), 9e6));
}

TEST_CASE("what reads files that were not seen says nothing of those that were") {
  Files files = times(30, "/data/index", 5'000'000);
  files.emplace_back("/data/1.png", 100'000);
  CHECK(seen(files, 900e6));  // one of 31: 3 %
  files.emplace_back("/data/2.png", 100'000);
  files.emplace_back("/data/3.png", 100'000);
  CHECK_FALSE(seen(files, 900e6));
}

TEST_CASE("few sightings, small files and those of the system are no data set") {
  CHECK_FALSE(seen(times(4, "/data/a.h5", 5'000'000), 900e6));
  CHECK_FALSE(seen(times(8, "/data/labels", 50'000), 900e6));
  CHECK_FALSE(seen(times(8, "/usr/share/zoneinfo/all", 5'000'000), 900e6));
}

TEST_CASE("what is parsed again each time is to be kept, and gains the time of that") {
  const Judgement j = madeWith(1, kRead).judge();
  const Finding* f = find(j, "transform.in_process");
  REQUIRE(f);
  CHECK(says(*f, "reads 9 times the size of what it holds open: a.h5, 20 MB"));
  CHECK_FALSE(adviceIn(*f, "offline_preprocess"));
  const Advice* once = adviceIn(*f, "read_once");
  REQUIRE(once);
  CHECK(std::abs(*once->predicted.speedup - 100 / (30 + 7.0)) < 0.05);
  CHECK(std::abs(*once->predicted.high - 100 / 30.0) < 0.05);
  // Of what the program makes itself, half may be random.
  const Judgement own = madeWith(0.5, kRead).judge();
  const Advice* half = adviceIn(*find(own, "transform.in_process"), "read_once");
  REQUIRE(half);
  CHECK(std::abs(*half->predicted.speedup - 100 / (30 + 35 * 0.1 + 35 * 0.5)) < 0.05);
}

TEST_CASE("what is read once, or does not fit into memory, is not to be kept there") {
  Rereads large = kRead;
  large.bytes = 90e6;
  for (const Maybe<Rereads>& read : {Maybe<Rereads>(), Maybe<Rereads>(large)}) {
    const Judgement j = madeWith(1, read).judge();
    const Finding* f = find(j, "transform.in_process");
    REQUIRE(f);
    CHECK_FALSE(adviceIn(*f, "read_once"));
    CHECK(adviceIn(*f, "offline_preprocess"));
  }
}

TEST_CASE("what each rank keeps for itself has to fit as often") {
  Facts f = madeWith(1, kRead);
  const auto offered = [&] {
    const Judgement j = f.judge();
    return adviceIn(j, "transform.in_process", "read_once") != nullptr;
  };
  CHECK(offered());
  f.run.balance.together = 4;
  CHECK(offered());  // 80 of 100 MB
  f.run.balance.together = 5;
  CHECK_FALSE(offered());
}
