// SPDX-License-Identifier: MIT
#include <cmath>

#include "present/html/html_sections.h"
#include "present/html/picture/picture.h"
#include "present/html/report_html.h"
#include "present/metrics/report_json.h"
#include "present/words/report_text.h"
#include "present/words/wording_device.h"
#include "tests/catch.h"
#include "tests/unit/analysis/text_trace.h"
#include "tests/unit/present/sample_analysis.h"

using namespace stallprof;
using namespace stallprof::test;
using samples::contains;

namespace {

DeviceInfo starved() {
  DeviceInfo info;
  info.basis = "trace";
  info.tracedRatio = 1.0;
  DeviceInfo::Device d;
  d.id = "GPU-1";
  d.name = "NVIDIA H100";
  d.busy = 0.4;
  d.time = DeviceInfo::TimeRatio{0.35, 0.05, 0, 0.6};
  d.idle = DeviceInfo::IdleRatio{};
  d.idle->transform = 0.5;
  d.idle->launch = 0.1;
  d.memoryTotal = 80'000'000'000;
  d.memoryPeak = 20'000'000'000;
  info.devices.push_back(d);
  info.kernels.push_back({Untrusted("evil\x1b[31m<script>"), "matmul", 10, Nanos(1000), 1.0, 0.5});
  info.categories.push_back({"matmul", 10, Nanos(1000), 1.0});
  info.copies.push_back({"to_device", "pinned", 4, Nanos(1000), 8000, 8e9});
  info.calls.push_back({Untrusted("cudaLaunchKernel"), "launch", 12, Nanos(500)});
  return info;
}

}  // namespace

TEST_CASE("no device, no block and no table") {
  Analysis a = samples::inputBound();
  a.device.reset();
  CHECK(deviceLines(a).empty());
  CHECK_FALSE(contains(reportJson(a), "\"device\""));
  CHECK_FALSE(contains(reportHtml(a, {}), "id=\"device\""));
}

TEST_CASE("a device is described in a compact block: busy, idle and why, kernels, copies, state") {
  Analysis a = samples::inputBound();
  a.device = starved();
  const auto lines = deviceLines(a);
  REQUIRE(lines.size() == 5);
  CHECK(lines[0].name == "busy");
  CHECK(lines[0].parts[0] == "40 %");
  CHECK(lines[1].parts[1] == "data: transform 50 %");
  CHECK(lines[1].parts[2] == "launching 10 %");
  CHECK(contains(lines[3].parts[0], "to device, pinned 8 GB/s"));
  CHECK(contains(reportText(a, {}), "GPU         busy     40 %   kernels 35 %"));
}

TEST_CASE("of many devices the block says how many it leaves out, and which one's state it has") {
  Analysis a = samples::inputBound();
  a.device = starved();
  a.device->devices.resize(6, a.device->devices[0]);
  const std::string text = reportText(a, {});
  CHECK(contains(text, "and 2 more devices"));
  CHECK(contains(text, "GPU 0 state"));
}

TEST_CASE("the page has the device's figures and kernels, and no markup of theirs") {
  Analysis a = samples::inputBound();
  a.device = starved();
  const std::string page = reportHtml(a, {});
  CHECK(contains(page, "data-path=\"device.devices.0.idle_ratio.transform\" data-value=\"0.5\""));
  CHECK(contains(page, "data-path=\"device.kernels.0.time_ratio\""));
  CHECK_FALSE(contains(page, "<script>"));
  CHECK_FALSE(contains(page, "\x1b"));
}

TEST_CASE("the device's lane shows its work below the steps, and says where it was not traced") {
  const Trace trace = traceOf(
      kTrainer +
      "repeat 20 every 100ms\n"
      "1000ms fetch thread=1 loader=1 epoch=1 duration=40ms cpu=0 batch=0+1*i\n"
      "1095ms optimizer thread=1 duration=5ms optimizer=1\n"
      "1050ms device_span device=\"GPU-1\" process=1 duration=30ms busy=30ms\n"
      "1085ms device_span device=\"GPU-1\" process=1 duration=5ms busy=5ms copy_only=5ms\n"
      "end\n"
      "1500ms device_trace process=1 duration=1s kernels=1\n"
      "repeat 4 every 500ms\n"
      "1s device_usage device=\"GPU-1\" busy=400 memory=5 memory_total=10 power=100000 clock=1000 "
      "max_clock=2000 sm_active=300\n"
      "end\n");
  const Analyzed analyzed = analyzeWithFacts(trace);
  const StepView traced = drawStep(trace, analyzed.trainer, 10);
  const Lane& lane = traced.lanes.back();
  CHECK(lane.name == "GPU");
  REQUIRE(lane.blocks.size() >= 2);
  const auto inStep = [&](Hue hue) {
    return std::any_of(lane.blocks.begin(), lane.blocks.end(),
                       [&](const Block& b) { return b.hue == hue && b.begin >= traced.begin; });
  };
  CHECK(inStep(Hue::kCompute));
  CHECK(inStep(Hue::kLoad));
  const StepView untraced = drawStep(trace, analyzed.trainer, 18);
  CHECK(untraced.lanes.back().blocks.empty());
  CHECK(untraced.lanes.back().note == "not traced here");
  const Picture picture = draw(trace, analyzed, RuleTable::builtIn());
  std::size_t found = 0;
  for (const Panel& panel : picture.panels) found += panel.title.rfind("GPU", 0) == 0;
  CHECK(found == 4);
}

TEST_CASE("GPU panels are of the job's devices, and of several show the mean") {
  const auto panelOf = [](const std::string& text) {
    const Trace trace = traceOf(kTrainer + text);
    return drawDevicePanels(trace, analyzeWithFacts(trace).trainer,
                            {trace.begin, trace.end, 1, {}});
  };
  const std::string usage =
      "repeat 4 every 500ms\n"
      "0s device_usage device=\"GPU-1\" busy=960 memory=5 memory_total=10\n"
      "0s device_usage device=\"GPU-2\" busy=0 memory=7 memory_total=10\n"
      "end\n";
  const auto mine = panelOf(usage +
                            "1s device_process device=\"GPU-1\" process=1 pid=100 memory=5\n"
                            "1s device_process device=\"GPU-2\" pid=7 memory=7\n");
  REQUIRE(mine.size() == 4);
  REQUIRE(!mine[0].series.empty());
  CHECK(std::abs(mine[0].series[0].values[0] - 96) < 1);
  CHECK(mine[1].limit == 10.0);
  const auto all = panelOf(usage);
  CHECK(std::abs(all[0].series[0].values[0] - 48) < 1);
  CHECK(all[1].limit == 20.0);
  const auto turns = panelOf(
      "0s device_trace process=1 duration=2s kernels=1\n"
      "repeat 10 every 200ms\n"
      "0s device_span device=\"GPU-1\" process=1 duration=100ms busy=100ms\n"
      "100ms device_span device=\"GPU-2\" process=1 duration=100ms busy=100ms\n"
      "end\n");
  REQUIRE(!turns[0].series.empty());
  CHECK(turns[0].series[0].name == "busy, traced");
  CHECK(std::abs(turns[0].series[0].values[0] - 50) < 1);
  const auto apart = panelOf(
      "0s process process=2 pid=101\n"
      "0s device_trace process=1 duration=1s kernels=1\n"
      "1s device_trace process=2 duration=1s kernels=1\n"
      "0s device_span device=\"GPU-1\" process=1 duration=1s busy=1s\n"
      "1s device_span device=\"GPU-2\" process=2 duration=1s busy=1s\n");
  CHECK(apart[0].series[0].values[0] > 99);  // nobody saw a device idle
  const auto besides = panelOf(
      "0s process process=2 pid=101\n"
      "0s device_trace process=1 duration=1s kernels=1\n"
      "0s device_trace process=2 duration=1s kernels=1\n"
      "0s device_span device=\"GPU-1\" process=1 duration=1s busy=1s\n");
  CHECK(besides[0].series[0].values[0] > 99);  // a process without work is no idle device
  const auto idle = panelOf("0s device_trace process=1 duration=1s kernels=1\n");
  CHECK(idle[0].series[0].values[0] == 0);
}

TEST_CASE("a lane of many short works ends where the last one does") {
  const Trace trace = traceOf(
      kTrainer +
      "0s device_trace process=1 duration=60s kernels=1 calls=1\n"
      "repeat 20 every 2400ms\n"
      "0s fetch thread=1 loader=1 epoch=1 duration=60ms cpu=60ms batch=0+1*i\n"
      "2390ms optimizer thread=1 duration=4ms optimizer=1\n"
      "end\n"
      "repeat 12000 every 4ms\n"
      "0s device_span device=\"GPU-1\" process=1 duration=1900us busy=1900us works=1\n"
      "2ms device_span device=\"GPU-1\" process=1 duration=1900us busy=1900us copy_only=1900us "
      "works=1\n"
      "end\n");
  const Analyzed analyzed = analyzeWithFacts(trace);
  const StepView view = drawStep(trace, analyzed.trainer, 10);
  const Lane& lane = view.lanes.back();
  REQUIRE(!lane.blocks.empty());
  CHECK(lane.blocks.size() <= 241);
  CHECK(lane.blocks.back().end > view.end - Nanos(50'000'000));
  CHECK(lane.blocks.back().name == "kernels and copies");
}
