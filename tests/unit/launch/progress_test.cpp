// SPDX-License-Identifier: MIT
#include "launch/recorder/progress.h"

#include <string>
#include <vector>

#include "tests/catch.h"

using namespace stallprof;
using namespace std::chrono_literals;

namespace {

class Counter : public EventOut {
 public:
  StringId intern(std::string_view) override { return StringId{1}; }
  void put(const Event&) override { ++count; }
  int count = 0;
};

class Names : public Counter {
 public:
  StringId intern(std::string_view text) override {
    names_.emplace_back(text);
    return StringId{static_cast<std::uint32_t>(names_.size())};
  }
  std::string_view textOf(StringId id) const override {
    return id.none() ? std::string_view() : names_[id.value - 1];
  }

 private:
  std::vector<std::string> names_;
};

Fetch fetchOf(std::uint32_t thread, Nanos duration) {
  return {.thread = ThreadId{thread}, .duration = duration};
}

}  // namespace

TEST_CASE("a line summarizes the batches since the last one") {
  Counter out;
  Progress progress(out);
  for (int i = 0; i < 10; ++i) progress.emit(i * 100ms, fetchOf(1, 25ms));
  progress.emit(0ms, fetchOf(2, 1ms));  // another thread, with less
  CHECK(out.count == 11);
  CHECK(progress.line(1s) ==
        "10 batches, 10 a second, p50 100 ms, 25 % of the time waiting for data");
  CHECK(progress.line(2s).empty());
  progress.emit(2s, fetchOf(1, 500ms));
  CHECK(progress.line(3s) ==
        "11 batches, 0.5 a second, p50 1.1 s, 25 % of the time waiting for data");
}

TEST_CASE("the end of an epoch is no batch") {
  Counter out;
  Progress progress(out);
  Fetch end = fetchOf(1, 1ms);
  end.end = true;
  progress.emit(1s, end);
  CHECK(progress.line(2s).empty());
}

TEST_CASE("without a loader the optimizer's steps count, all of a call that is many") {
  const auto line = [](std::uint32_t stepsOfCall) {
    Counter out;
    Progress progress(out);
    OptimizerStep step;
    step.thread = ThreadId{1};
    step.steps = stepsOfCall;
    for (int i = 0; i < 4; ++i) progress.emit(i * 500ms, step);
    return progress.line(2s);
  };
  CHECK(line(1) == "4 optimizer steps, 2 a second, p50 500 ms");
  CHECK(line(4) == "16 optimizer steps, 8 a second, p50 125 ms");
}

TEST_CASE("the pace of steps is known after some, of the thread that has most, bursts and all") {
  Counter out;
  Progress progress(out);
  LoaderSeen loader;
  loader.workers = 4;
  progress.emit(0ms, loader);
  for (int i = 0; i < 15; ++i) progress.emit(i * 100ms, fetchOf(1, 25ms));
  CHECK(progress.pace().step == 0ms);
  CHECK(progress.pace().workers == 4);
  CHECK(!progress.pace().ranges);
  progress.emit(1500ms, fetchOf(1, 25ms));
  CHECK(progress.pace().step == 100ms);
  progress.emit(1600ms, fetchOf(2, 25ms));
  for (int i = 0; i < 17; ++i)  // four at once, then nothing for as long
    progress.emit(2000ms + i / 4 * 400ms, fetchOf(1, 25ms));
  CHECK(progress.pace().step >= 80ms);
  CHECK(progress.pace().step <= 120ms);
  CHECK(progress.taken() == 35);
  progress.emit(9s, Range{});
  CHECK(progress.pace().ranges);
}

TEST_CASE("annotated steps count before batches, ranges named as steps after these") {
  Names out;
  Progress progress(out);
  const auto range = [&](std::string_view name, std::string_view domain, int times) {
    Range step;
    step.thread = ThreadId{1};
    step.duration = 5ms;
    step.name = progress.intern(name);
    step.domain = progress.intern(domain);
    for (int i = 0; i < times; ++i) progress.emit(i * 100ms, step);
    return progress.made(false).steps;
  };
  OptimizerStep update;
  update.thread = ThreadId{1};
  progress.emit(0ms, update);
  CHECK(progress.made(false).steps == 1);
  CHECK(range("forward", "", 9) == 1);
  CHECK(range("ProfilerStep#3", "", 4) == 4);
  progress.emit(0ms, fetchOf(1, 1ms));
  CHECK(progress.made(false).steps == 1);
  CHECK(range("load", "stallprof", 5) == 1);
  CHECK(range("step", "stallprof", 3) == 3);
}

TEST_CASE("settings are changed when the hook has reported each of them") {
  Names out;
  Progress progress(out, {"num_workers", "in_order"});
  const auto report = [&](std::string_view name) {
    SettingChanged setting;
    setting.name = progress.intern(name);
    progress.emit(1s, setting);
    return progress.changed();
  };
  CHECK_FALSE(report("pin_memory"));
  CHECK_FALSE(report("num_workers"));
  CHECK_FALSE(report("num_workers"));
  CHECK(report("in_order"));
  CHECK(Progress(out).changed());
}

TEST_CASE("steps are counted from the first batch, or from the first update of the model") {
  Counter out;
  Progress progress(out);
  CHECK(progress.made(false).first < 0ms);
  for (int i = 0; i < 8; ++i) progress.emit(i * 100ms, fetchOf(1, 1ms));  // an evaluation
  CHECK(progress.made(false).steps == 8);
  CHECK(progress.made(true).first < 0ms);
  OptimizerStep step;
  step.thread = ThreadId{1};
  for (int i = 10; i < 13; ++i) {
    progress.emit(i * 100ms, step);
    progress.emit(i * 100ms + 50ms, fetchOf(1, 1ms));
  }
  CHECK(progress.made(false).steps == 11);
  CHECK(progress.made(false).first == 0ms);
  CHECK(progress.made(true).steps == 3);
  CHECK(progress.made(true).first == 1s);
}
