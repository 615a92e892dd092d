// SPDX-License-Identifier: MIT
#include "present/html/picture/picture.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/fd.h"
#include "tests/catch.h"
#include "tests/unit/analysis/text_trace.h"

namespace stallprof {
namespace {

using test::traceOf;

Nanos millis(std::int64_t n) { return std::chrono::milliseconds(n); }

// Steps one after the other: each waits for all of it but 10 ms of compute.
TrainerFacts stepsOf(const std::vector<std::int64_t>& lengths, std::size_t warmup) {
  TrainerFacts facts;
  Nanos at{};
  for (const std::int64_t length : lengths) {
    Step step;
    step.number = static_cast<std::uint32_t>(facts.steps.size());
    step.begin = at;
    step.end = at + millis(length);
    step.split.compute = millis(10);
    step.split.wait = millis(length - 10);
    step.blame.transform = step.split.wait;
    at = step.end;
    facts.steps.push_back(step);
  }
  facts.warmup = warmup;
  return facts;
}

Trace golden(const std::string& name) {
  const auto text = readFile(std::string(STALLPROF_TESTS_DIR) + "/golden/" + name + "/trace.txt");
  REQUIRE(text.ok());
  return traceOf(text.value());
}

// A process of thirty steps.
constexpr char kThirtySteps[] =
    "0s process process=1 pid=100 comm=\"python3\"\n"
    "0s thread thread=1 process=1 tid=100 name=\"python3\"\n"
    "repeat 30 every 100ms\n"
    "100ms optimizer thread=1 duration=1ms optimizer=1\n"
    "end\n";

Picture panelsOf(const std::string& text) {
  const Trace trace = traceOf(text);
  Picture picture;
  drawPanels(trace, analyzeWithFacts(trace), picture);
  return picture;
}

}  // namespace

TEST_CASE("few steps are a bar each") {
  const Strip strip = drawStrip(stepsOf({50, 60, 70}, 1));
  REQUIRE(strip.bars.size() == 3);
  CHECK(strip.bars[1].first == 1);
  CHECK(strip.bars[1].last == 1);
  CHECK(strip.bars[1].middle == millis(60));
  CHECK(strip.bars[1].split.wait == millis(50));
  CHECK(strip.warmup == 1);
}

TEST_CASE("many steps share bars: the median one is drawn, the shortest and longest are kept") {
  std::vector<std::int64_t> lengths(100'000, 50);
  lengths[70'001] = 900;
  const Strip strip = drawStrip(stepsOf(lengths, 10));
  CHECK(strip.bars.size() <= 480);
  CHECK(strip.bars.front().first == 0);
  CHECK(strip.bars.back().last == 99'999);
  for (std::size_t i = 1; i < strip.bars.size(); ++i)
    CHECK(strip.bars[i].first == strip.bars[i - 1].last + 1);
  const auto spike = std::find_if(strip.bars.begin(), strip.bars.end(),
                                  [](const StripBar& b) { return b.high == millis(900); });
  REQUIRE(spike != strip.bars.end());
  CHECK(spike->middle == millis(50));
  CHECK(spike->low == millis(50));
  CHECK(strip.median == millis(50));
}

TEST_CASE("one very long step does not flatten the others, and is counted and named") {
  std::vector<std::int64_t> lengths(100, 50);
  lengths[60] = 60'000;
  const Strip strip = drawStrip(stepsOf(lengths, 0));
  CHECK(strip.top < millis(200));
  CHECK(strip.above == 1);
  REQUIRE(!strip.slowest.empty());
  CHECK(strip.slowest[0].index == 60);
  CHECK(strip.slowest[0].hue == Hue::kWait);
  CHECK(strip.slowest[0].why == "waiting for data: transform");
}

TEST_CASE("the median is that of steps.time_ns: steps at a boundary are drawn and set apart") {
  TrainerFacts facts = stepsOf({50, 52, 54, 200, 210, 220, 230}, 0);
  for (std::size_t i = 3; i < 7; ++i) facts.steps[i].boundary = true;
  const Strip strip = drawStrip(facts);
  CHECK(strip.median == millis(52));
  CHECK(strip.bars.size() == 7);
  CHECK(strip.slowest[0].index == 6);
  CHECK(plainSteps(facts) == std::vector<std::size_t>{0, 1, 2});
  for (Step& step : facts.steps) step.boundary = true;
  CHECK(plainSteps(facts).size() == 7);
}

TEST_CASE("the chart's median is the report's, where that is of steps of several batches") {
  const TrainerFacts facts = stepsOf({40, 40, 40, 130, 40, 40, 40, 130}, 0);
  CHECK(drawStrip(facts, Nanos(62'500'000)).median == Nanos(62'500'000));
}

TEST_CASE("no steps draw nothing") {
  const Picture picture = draw(Trace{}, Analyzed{}, RuleTable::builtIn());
  CHECK(picture.strip.bars.empty());
  CHECK(!picture.median);
  CHECK(picture.panels.empty());
  CHECK(picture.flames.empty());
}

TEST_CASE("a step is shown with the worker that made its batch") {
  const Trace trace = golden("too_few_workers");
  const Picture picture = draw(trace, analyzeWithFacts(trace), RuleTable::builtIn());
  REQUIRE(picture.median);
  const StepView& view = *picture.median;
  REQUIRE(view.lanes.size() == 2);
  CHECK(view.lanes[0].name == "trainer");
  CHECK(view.lanes[1].name == "worker 0");
  CHECK(view.from < view.begin);
  CHECK(view.to > view.end);
  std::size_t awaited = 0;
  for (const Block& block : view.lanes[1].blocks) {
    CHECK(block.begin >= view.from);
    CHECK(block.end <= view.to);
    awaited += block.awaited && block.hue == Hue::kTransform;
  }
  CHECK(awaited == 1);
}

TEST_CASE("no block of a lane lies over another, and time goes from left to right") {
  for (const char* name : {"too_few_workers", "storage_bound", "checkpoint", "worker_startup"}) {
    const Trace trace = golden(name);
    const Picture picture = draw(trace, analyzeWithFacts(trace), RuleTable::builtIn());
    REQUIRE(picture.worst);
    for (const Lane& lane : picture.worst->lanes)
      for (std::size_t i = 1; i < lane.blocks.size(); ++i)
        CHECK(lane.blocks[i - 1].end <= lane.blocks[i].begin);
  }
}

TEST_CASE("the longest step shows what made it long") {
  const Trace trace = golden("checkpoint");
  const Picture picture = draw(trace, analyzeWithFacts(trace), RuleTable::builtIn());
  REQUIRE(picture.worst);
  const auto& blocks = picture.worst->lanes[0].blocks;
  CHECK(std::any_of(blocks.begin(), blocks.end(),
                    [](const Block& b) { return b.hue == Hue::kPeriodic; }));
}

TEST_CASE("with no workers the trainer's fetches are shown once more by what they were") {
  const Trace trace = golden("in_process");
  const Picture picture = draw(trace, analyzeWithFacts(trace), RuleTable::builtIn());
  REQUIRE(picture.median);
  REQUIRE(picture.median->lanes.size() == 2);
  CHECK(picture.median->lanes[1].name == "its fetches");
  CHECK(picture.median->lanes[1].blocks[0].hue == Hue::kTransform);
}

TEST_CASE("CPU by role is what the counters say, second by second") {
  const Picture picture = panelsOf(
      "0s process process=1 pid=100 comm=\"python3\"\n"
      "0s thread thread=1 process=1 tid=100 name=\"python3\"\n"
      "0s usage process=1 cpu=0\n"
      "2s usage process=1 cpu=1s\n"
      "4s usage process=1 cpu=3s\n");
  REQUIRE(!picture.panels.empty());
  const Panel& cpu = picture.panels[0];
  CHECK(cpu.title == "CPU by role");
  REQUIRE(cpu.series.size() == 1);
  REQUIRE(cpu.series[0].values.size() == 4);
  for (std::size_t i = 0; i < 4; ++i)
    CHECK(std::abs(cpu.series[0].values[i] - (i < 2 ? 0.5 : 1.0)) < 1e-9);
}

TEST_CASE("what a process used before the recording began is drawn nowhere") {
  const Picture picture = panelsOf(  // as attach sees it: older than the recording
      "0s process process=1 pid=100 comm=\"python3\"\n"
      "0s thread thread=1 process=1 tid=100 name=\"python3\"\n"
      "5ms usage process=1 cpu=7200s read_bytes=400000000000\n"
      "2s usage process=1 cpu=7201s read_bytes=400000001000\n"
      "4s usage process=1 cpu=7203s read_bytes=400000002000\n");
  for (const Panel& panel : picture.panels)
    for (const Series& series : panel.series)
      for (const double value : series.values) CHECK_FALSE(value > 1001);
  REQUIRE(!picture.panels.empty());
  REQUIRE(picture.panels[0].series.size() == 1);
  CHECK(std::abs(picture.panels[0].series[0].values[3] - 1) < 1e-9);
}

TEST_CASE("the batches ready are of the steps that are held, however few") {
  const Trace trace = traceOf("0s process process=1 pid=100 comm=\"python3\"\n100s command_end\n");
  Analyzed analyzed = analyzeWithFacts(trace);
  analyzed.trainer.workers.push_back({});
  for (int i = 0; i < 1000; i += 2) {
    Step step;
    step.begin = millis(100 * i);
    step.end = step.begin + millis(10);
    step.ready = 8;
    analyzed.trainer.steps.push_back(step);
  }
  Picture picture;
  drawPanels(trace, analyzed, picture);
  const auto ready = std::find_if(picture.panels.begin(), picture.panels.end(),
                                  [](const Panel& p) { return p.title.starts_with("Batches"); });
  REQUIRE(ready != picture.panels.end());
  for (const double value : ready->series.at(0).values)
    CHECK((std::isnan(value) || std::abs(value - 8) < 1e-9));
}

TEST_CASE("a level that holds is that level in the buckets where it begins and ends, too") {
  std::string text = "0s process process=1 pid=100 comm=\"python3\"\n100s command_end\n";
  for (const char* device : {"GPU-1", "GPU-2"})
    text += std::string("repeat 90 every 1s\n1130ms device_usage device=\"") + device +
            "\" busy=990 memory=60000000000 memory_total=85000000000 power=400000 clock=1980 "
            "max_clock=1980\nend\n";
  const Picture picture = panelsOf(text);
  std::map<std::string, double> levels = {
      {"busy, NVML", 99}, {"used", 120e9}, {"drawn", 800}, {"of its SMs", 1980}};
  for (const Panel& panel : picture.panels)
    for (const Series& series : panel.series)
      if (const auto level = levels.find(series.name); level != levels.end()) {
        for (const double value : series.values)
          CHECK((std::isnan(value) || std::abs(value - level->second) < 1e-6 * level->second));
        levels.erase(level);
      }
  CHECK(levels.empty());  // all were drawn
}

TEST_CASE("a day's counters take as many points as an hour's") {
  const Picture picture = panelsOf(
      "0s process process=1 pid=100 comm=\"python3\"\n"
      "repeat 86400 every 1s\n"
      "0s usage process=1 cpu=0+1s*i rss=1000000\n"
      "end\n");
  for (const Panel& panel : picture.panels)
    for (const Series& series : panel.series) CHECK(series.values.size() <= 240);
}

TEST_CASE("files are ranked by the samples that found a thread blocked in them") {
  const Trace trace = traceOf(
      "0s process process=1 pid=100 comm=\"python3\"\n"
      "1s file process=1 path=\"/a\" type=\"ext4\" waits=3 size=10\n"
      "2s file process=1 path=\"/b\" waits=9\n"
      "3s file process=1 path=\"/a\" waits=30 size=20\n"
      "3s file process=1 path=\"/open\" waits=0\n");
  Picture picture;
  drawFiles(trace, picture);
  REQUIRE(picture.files.size() == 2);
  CHECK(picture.files[0].path == "/a");
  CHECK(picture.files[0].waits == 33);
  CHECK(picture.files[0].size == 20);
  CHECK(picture.files[1].path == "/b");
}

namespace {

Flame onlyFlame(const Trace& trace, std::uint64_t samples) {
  const std::vector<Flame> flames =
      drawFlames(trace, analyzeWithFacts(trace), RuleTable::builtIn());
  REQUIRE(flames.size() == 1);
  CHECK(flames[0].samples == samples);
  return flames[0];
}

}  // namespace

TEST_CASE("a flame is as wide as its samples, and too narrow frames are left out") {
  const Trace trace =
      traceOf(std::string(kThirtySteps) +
              "0s stack stack=1 function=\"main\" file=\"train.py\" line=3\n"
              "0s stack stack=2 caller=1 function=\"decode\" file=\"aug.py\" line=7\n"
              "0s stack stack=3 caller=1 function=\"rare\" file=\"aug.py\" line=9\n"
              "1s stack_slice thread=1 duration=1s stack=2 samples=750\n"
              "2s stack_slice thread=1 duration=500ms stack=1 samples=249\n"
              "2600ms stack_slice thread=1 duration=10ms stack=3 samples=1\n");
  const Flame flame = onlyFlame(trace, 1000);
  REQUIRE(flame.frames.size() == 2);
  CHECK(flame.frames[0].name == "main");
  CHECK(flame.frames[0].width == 1);
  CHECK(flame.frames[1].name == "decode");
  CHECK(std::abs(flame.frames[1].width - 0.75) < 1e-9);
}

TEST_CASE("a worker's other threads are in its flame only while they do something") {
  const Trace trace = traceOf(std::string(kThirtySteps) +
                              "0s process process=2 parent=1 pid=102 comm=\"pt_data_worker\"\n"
                              "0s thread thread=2 process=2 tid=102 name=\"pt_data_worker\"\n"
                              "0s thread thread=3 process=2 tid=103 name=\"feeder\"\n"
                              "0s thread thread=4 process=2 tid=104 name=\"pool\"\n"
                              "0s stack stack=1 function=\"_worker_loop\" file=\"worker.py\"\n"
                              "0s stack stack=2 function=\"_feed\" file=\"queues.py\"\n"
                              "0s stack stack=3 function=\"decode\" file=\"aug.py\"\n"
                              "1s slice thread=2 duration=1s run=0 samples=100 wait=pipe\n"
                              "1s slice thread=3 duration=1s run=0 samples=100 wait=futex\n"
                              "1s slice thread=4 duration=1s run=900ms samples=100 wait=running\n"
                              "1s stack_slice thread=2 duration=1s stack=1 samples=100\n"
                              "1s stack_slice thread=3 duration=1s stack=2 samples=100\n"
                              "1s stack_slice thread=4 duration=1s stack=3 samples=100\n");
  const Flame flame = onlyFlame(trace, 200);
  for (const FlameFrame& frame : flame.frames) CHECK(frame.name != "_feed");
}

}  // namespace stallprof
