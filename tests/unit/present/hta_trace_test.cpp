// SPDX-License-Identifier: MIT
#include "present/timeline/hta_trace.h"

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/unit/present/export_sample.h"
#include "trace/kineto.h"
#include "trace/trace_builder.h"

using namespace stallprof;
using namespace stallprof::samples;

namespace {

using Json = nlohmann::json;

Drawn drawHta(const Sample& of, const TimelineOptions& options = {}) {
  return drawWith(writeHtaTrace, of, options);
}

std::vector<Json> slicesOf(const Json& json, const std::string& category) {
  std::vector<Json> found;
  for (const Json& event : json["traceEvents"])
    if (event["ph"] == "X" && event["cat"] == category) found.push_back(event);
  return found;
}

std::set<int> stepsIn(const Json& json) {
  std::set<int> steps;
  const std::string prefix = "ProfilerStep#";
  for (const Json& event : slicesOf(json, "user_annotation"))
    if (const auto name = event["name"].get<std::string>(); name.rfind(prefix, 0) == 0)
      steps.insert(std::stoi(name.substr(prefix.size())));
  return steps;
}

// Two processes that update a model side by side, each with the ranks it announced.
const Sample& twoTrainers(const std::string& reported) {
  return sampleOf(
      "0 process process=1 pid=101\n0 thread thread=1 process=1 tid=101\n"
      "0 process process=2 pid=102\n0 thread thread=2 process=2 tid=102\n" +
      reported +
      "repeat 50 every 200ms\n1090ms optimizer thread=1 optimizer=1\n"
      "1090ms optimizer thread=2 optimizer=1\nend\n");
}

std::string reported(int process, int rank) {
  return "0 framework process=" + std::to_string(process) +
         " name=\"torch\" rank=" + std::to_string(rank) + "\n";
}

std::vector<std::int64_t> ranksOf(const Sample& of) {
  std::vector<std::int64_t> ranks;
  for (std::size_t i = 0; i < of.analyzed.roles.trainers.size(); ++i)
    ranks.push_back(rankOf(of.trace, of.analyzed.roles, i));
  return ranks;
}

}  // namespace

TEST_CASE("the HTA trace of every golden recording passes the check") {
  for (const std::string& name : goldens()) {
    INFO(name);
    const Drawn drawn = drawHta(sampleOf(goldenText(name)));
    const TraceCheck found = check(drawn.text);
    CHECK(firstProblem(found) == "");
    CHECK(found.format == "trace events");
  }
}

TEST_CASE("HTA finds the rank by a space after its colon, on a line before the events") {
  const Drawn one = drawHta(sampleOf(goldenText("gpu_bound")));
  CHECK(one.text.find("\"rank\": 0, \"world_size\": 1}") < one.text.find("\"traceEvents\""));
  const Drawn reported = drawHta(sampleOf(
      goldenText("gpu_bound") + "manifest env=\"RANK=5\"\nmanifest env=\"WORLD_SIZE=8\"\n"));
  CHECK(reported.text.find("\"rank\": 5, \"world_size\": 8}") != std::string::npos);
  const Drawn wrong = drawHta(sampleOf(goldenText("gpu_bound") + "manifest env=\"RANK=x\\\"\"\n"));
  CHECK(wrong.text.find("\"rank\": 0,") != std::string::npos);
  CHECK(htaFileName(5) == "rank5.pt.trace.json");
}

TEST_CASE("several trainers have in HTA the ranks they announced, where no two have the same") {
  using Ranks = std::vector<std::int64_t>;
  CHECK(ranksOf(twoTrainers(reported(1, 3) + reported(2, 2))) == Ranks{3, 2});
  CHECK(ranksOf(twoTrainers(reported(1, 0) + reported(2, 0))) == Ranks{0, 1});
  CHECK(ranksOf(twoTrainers(reported(2, 5))) == Ranks{0, 1});
  CHECK(drawHta(twoTrainers(reported(1, 3) + reported(2, 2)))
            .text.find("\"rank\": 3, \"world_size\": 4}") != std::string::npos);
}

TEST_CASE("the steps whose kernels were all traced are written, and only those") {
  const Drawn drawn = drawHta(sampleOf(everyKernel()));
  const Json json = Json::parse(drawn.text);
  const std::set<int> steps = stepsIn(json);
  CHECK(steps.size() == 24);
  CHECK(*steps.begin() == 48);
  CHECK(*steps.rbegin() == 71);
  CHECK(json["traceEvents"][0]["ph"] == "M");  // HTA takes index 0 for "not linked"
  const auto kernels = slicesOf(json, "kernel");
  CHECK(kernels.size() == 24 * 200);
  CHECK(slicesOf(json, "cuda_runtime").size() == 24 * 201);
  CHECK(slicesOf(json, "gpu_memcpy").size() == 24);
}

TEST_CASE("a kernel has whole microseconds, its stream, device and launch, and a readable name") {
  const Json json = Json::parse(drawHta(sampleOf(everyKernel())).text);
  std::set<std::int64_t> launched;
  for (const Json& call : slicesOf(json, "cuda_runtime")) {
    CHECK(launched.insert(call["args"]["correlation"].get<std::int64_t>()).second);
    CHECK_FALSE(call["args"].contains("stream"));
  }
  for (const Json& kernel : slicesOf(json, "kernel")) {
    CHECK(kernel["ts"].is_number_integer());
    CHECK(kernel["dur"] == 50);
    CHECK(kernel["pid"] == 0);
    CHECK(kernel["args"]["stream"] == 7);
    CHECK(kernel["name"] == "at::native::vectorized_elementwise_kernel<CUDAFunctor_add>");
    CHECK(launched.count(kernel["args"]["correlation"].get<std::int64_t>()) == 1);
  }
  const auto copies = slicesOf(json, "gpu_memcpy");
  REQUIRE_FALSE(copies.empty());
  CHECK(copies[0]["name"] == "Memcpy HtoD (Pageable -> Device)");
  CHECK(copies[0]["args"]["stream"] == 7);  // the default stream's number, never 0
  CHECK(json["deviceProperties"][0]["name"] == "NVIDIA H100 80GB HBM3");
}

TEST_CASE("fetches are named as torch's own profiler names them") {
  const std::string many = drawHta(sampleOf(goldenText("too_few_workers"))).text;
  CHECK(count(many, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__") > 100);
  const std::string none = drawHta(sampleOf(goldenText("in_process"))).text;
  CHECK(count(none, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__") > 100);
  // The fetch that ends an epoch is of no worker, nor is any of an imported trace.
  const std::string imported = replaced(goldenText("too_few_workers"), " worker=0 ready", " ready");
  for (const std::string& text : {many, drawHta(sampleOf(imported)).text}) {
    CHECK(count(text, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__") > 100);
    CHECK(count(text, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__") == 0);
  }
}

TEST_CASE("a long run is cut to as many steps as HTA can work through, unless all are asked for") {
  const Sample& sample =
      sampleOf(replaced(goldenText("too_few_workers"), "repeat 180 ", "repeat 2000 "));
  const Drawn some = drawHta(sample);
  CHECK(some.written.summary.steps > kMaxHtaSteps / 2);
  CHECK(some.written.summary.steps <= kMaxHtaSteps + 1);
  CHECK_FALSE(some.written.summary.whole);
  TimelineOptions full;
  full.full = true;
  CHECK(drawHta(sample, full).written.summary.steps > 1500);
}

TEST_CASE("calls that share a correlation do not count their kernel twice in HTA") {
  const Drawn drawn = drawHta(
      sampleOf(everyKernel() + "3500000us device_call thread=1 process=1 duration=1us kind=launch "
                               "name=\"cuLaunchKernel\" correlation=2500\n"));
  CHECK(count(drawn.text, "{\"correlation\":2500}") == 1);
  CHECK(count(drawn.text, "\"cat\":\"cuda_driver\"") == 1);
}

TEST_CASE("a chain of as many processes as a damaged recording names is walked up, not called up") {
  const Drawn drawn = drawHta(
      sampleOf(everyKernel() + "0 process process=100 parent=1 pid=5\nrepeat 200000 every 1ns\n"
                               "1ns process process=101+1*i parent=100+1*i pid=6+1*i\nend\n"
                               "2ms thread thread=9 process=200100 tid=9\n3500ms span thread=9 "
                               "duration=1ms name=\"save\"\n"));
  CHECK(firstProblem(check(drawn.text)) == "");
}

TEST_CASE("names of the job cannot break an HTA trace") {
  const Drawn drawn = drawHta(sampleOf(hostileText()));
  CHECK(firstProblem(check(drawn.text)) == "");
  CHECK(rawControls(drawn.text, "\n") == "");
}

TEST_CASE("what is exported for HTA and imported again has the same steps and device time") {
  const Drawn drawn = drawHta(sampleOf(everyKernel()));
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  REQUIRE(file);
  REQUIRE(std::fwrite(drawn.text.data(), 1, drawn.text.size(), file.get()) == drawn.text.size());
  std::rewind(file.get());
  const auto read = readKineto(file.get());
  REQUIRE(read.ok());
  struct Into final : EventOut {
    TraceBuilder builder;
    StringId intern(std::string_view text) override { return builder.strings().intern(text); }
    void put(const Event& event) override { builder.take(event); }
  } into;
  replayKineto(read.value(), 1, into);
  const Analyzed again = analyzeWithFacts(into.builder.seal());
  CHECK(again.trainer.steps.size() == 24);
  REQUIRE(again.analysis.device);
  REQUIRE(again.analysis.device->devices.size() == 1);
  const auto& time = again.analysis.device->devices[0].time;
  REQUIRE(time);
  CHECK(std::abs(time->kernels - 0.25) < 0.01);
  CHECK(std::abs(time->copies - 0.0005) < 0.0005);
}
