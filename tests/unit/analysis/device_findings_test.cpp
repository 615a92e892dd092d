// SPDX-License-Identifier: MIT
#include <cmath>

#include "analysis/device/device_use.h"
#include "analysis/findings/device_evidence.h"
#include "analysis/model/pipeline_model.h"
#include "tests/catch.h"
#include "tests/unit/analysis/draw_in_order.h"
#include "tests/unit/analysis/facts_builder.h"

using namespace stallprof;
using namespace stallprof::test;

namespace {

// What the device did in a step, in ms; what is left of the step is idle while the host works.
struct Device {
  double kernels = 0, copies = 0, collectives = 0;
  double sync = 0, launch = 0;  // idle
  double blocking = 0;          // of the trainer, in copies: out of its compute
  double syncs = 0;             // long waits a step
  double traced = 1;            // of the window
  double waits = 0;             // of the trainer, in such waits
  double works = 1;             // of the samples in long gaps: run code of the step
  bool bridged = true;          // long gaps are below 100 ms
  double slowed = 1;            // a step takes so many times the mean while it is traced
  double launches = 0;          // of the device, a step
};

Facts withDevice(const Training& t, const Device& d) {
  Facts f = factsOf(t);
  TrainerFacts& trainer = f.trainer;
  for (Step& s : trainer.steps) {
    s.split.compute -= ms(d.blocking);
    s.split.load += ms(d.blocking);
    s.split.copy += ms(d.blocking);
  }
  const auto n = static_cast<double>(trainer.windowSteps());
  trainer.split.compute -= ms(d.blocking * n);
  trainer.split.load += ms(d.blocking * n);
  trainer.split.copy += ms(d.blocking * n);
  DeviceFacts& facts = trainer.device;
  facts.seen = facts.timeline = true;
  facts.traced = scaled(trainer.window(), d.traced);
  facts.covered = trainer.window();
  facts.tracedSteps = n * d.traced / d.slowed;
  facts.plain.add(n, trainer.window());
  facts.tracedPlain.add(facts.tracedSteps, facts.traced);
  facts.syncs = static_cast<std::uint64_t>(d.syncs * n * d.traced);
  facts.syncTime = ms(d.waits * n * d.traced);
  DeviceBusy busy;
  busy.device = f.trace.strings.intern("GPU-1");
  busy.traced = facts.traced;
  busy.works = static_cast<std::uint64_t>(d.launches * facts.tracedSteps);
  const auto all = [&](double each) { return ms(each * n * d.traced); };
  busy.kernels = all(d.kernels);
  busy.copies = all(d.copies);
  busy.collectives = all(d.collectives);
  busy.idle.sync = all(d.sync);
  busy.idle.launch = all(d.launch);
  busy.idle.host = busy.traced - busy.busy() - busy.idle.total();
  busy.idle.hostBridged = d.bridged ? busy.idle.host : Nanos{};
  facts.devices.push_back(busy);
  facts.longGaps = busy.idle.host;
  trainer.stacks.inLongGaps = facts.longGaps > Nanos{} ? 100 : 0;
  FunctionSamples work;
  work.phase = Phase::kCompute;
  work.whileIdle = d.works * trainer.stacks.inLongGaps;
  trainer.stacks.functions.push_back(work);
  removeTracing(trainer);
  settleGaps(trainer);
  return f;
}

Facts copying(const Training& t, const Device& d, HostMemory memory, double rate) {
  Facts f = withDevice(t, d);
  CopyUse copy;
  copy.kind = DeviceWorkKind::kToDevice;
  copy.memory = memory;
  copy.count = 1;
  copy.time = scaled(f.trainer.window(), d.copies / t.step());
  copy.bytes = static_cast<std::int64_t>(rate * seconds(copy.time));
  f.trainer.device.copies.push_back(copy);
  return f;
}

DeviceGauge gauge(Facts& f, double busy) {
  DeviceGauge g;
  g.device = f.trace.strings.intern("GPU-1");
  g.busyRatio = busy;
  g.memoryTotal = 80'000'000'000;
  g.memoryPeak = 20'000'000'000;
  return g;
}

void checkNoneBelow(const Judgement& j, double busy) {
  for (const Finding& f : j.findings)
    for (const Advice& a : f.advice)
      if (a.predicted.speedup) CHECK(*a.predicted.speedup <= 1 / busy + 1e-9);
}

}  // namespace

TEST_CASE("a busy device, and nothing else to gain, is health, and called by its name") {
  const Judgement j = withDevice(Training{}, {.kernels = 9.5}).judge();
  REQUIRE(j.findings.size() == 1);
  CHECK(j.findings[0].id == "compute.device_bound");
  CHECK(j.verdict.healthy == Maybe<bool>(true));
  CHECK(j.verdict.boundBy == "compute");
  CHECK(says(j.findings[0], "busy 95 %"));
}

TEST_CASE("a device that idles long while the training thread works waits for that work") {
  const Judgement j = withDevice(Training{}, {.kernels = 4}).judge();
  REQUIRE_FALSE(j.findings.empty());
  const Finding& f = j.findings[0];
  CHECK(f.id == "compute.host_work");
  CHECK(std::abs(f.shareRatio - 0.6) < 0.01);
  CHECK(says(f, "the device is busy 40 %"));
  CHECK(j.verdict.boundBy == "compute");
  CHECK(j.verdict.healthy == Maybe<bool>(false));
  const Advice* a = adviceIn(f, "move_host_work");
  REQUIRE(a);
  CHECK(std::abs(*a->predicted.speedup - 10 / 7.0) < 0.05);  // half of 6 ms
  CHECK(a->predicted.basis == Basis::kAssumed);
  checkNoneBelow(j, 0.4);
}

TEST_CASE("of long gaps those count as host work in which samples find the step's code running") {
  const auto shareOf = [](const Device& d, double others = 0) {
    Facts f = withDevice(Training{}, d);
    if (others > 0) {
      f.trainer.device.gauges.push_back(gauge(f, 0.9));
      f.trainer.device.gauges[0].othersRatio = others;
    }
    const Judgement j = f.judge();
    const Finding* found = find(j, "compute.host_work");
    return found ? found->shareRatio : 0;
  };
  CHECK(std::abs(shareOf({.kernels = 4, .works = 0.5}) - 0.3) < 0.01);
  CHECK(shareOf({.kernels = 4, .works = 0.05}) == 0);  // blocked, or what another finding is about
  CHECK(shareOf({.kernels = 9.6}) == 0);
  CHECK(shareOf({.kernels = 4, .launch = 6}) == 0);
  CHECK(shareOf({.kernels = 4}, 0.2) > 0.5);
  CHECK(shareOf({.kernels = 4}, 0.5) == 0);  // their turns
}

TEST_CASE(
    "long work beside a wait in each step is hidden without it, if the device has more to do") {
  // Each step: a batch made for 8 ms, then a wait for the device's 1 ms.
  const Judgement j =
      withDevice(Training{}, {.kernels = 1, .sync = 0.5, .syncs = 1, .waits = 1}).judge();
  REQUIRE_FALSE(j.findings.empty());
  CHECK(j.findings[0].id == "compute.host_work");
  CHECK(std::abs(j.findings[0].shareRatio - 0.85) < 0.01);
  // Hidden behind 6 ms of the device's work without the wait.
  const Judgement k =
      withDevice(Training{}, {.kernels = 6, .sync = 1, .syncs = 1, .waits = 6}).judge();
  const Finding* found = find(k, "compute.sync_points");
  REQUIRE(found);
  CHECK(std::abs(found->shareRatio - 0.4) < 0.01);
  CHECK(find(k, "compute.host_work") == nullptr);  // counted once
  // But for gaps that no work launched ahead can bridge: a metric of seconds.
  const Device rare{.kernels = 6, .sync = 1, .syncs = 1, .waits = 6, .bridged = false};
  const Judgement l = withDevice(Training{}, rare).judge();
  CHECK(std::abs(find(l, "compute.sync_points")->shareRatio - 0.1) < 0.01);
  REQUIRE(find(l, "compute.host_work"));
  CHECK(std::abs(find(l, "compute.host_work")->shareRatio - 0.3) < 0.01);
}

TEST_CASE("launching fires above 5 % of short gaps, and gains no more than the device leaves") {
  CHECK(find(withDevice(Training{}, {.kernels = 9, .launch = 0.4}).judge(),
             "compute.launch_bound") == nullptr);
  const Judgement j = withDevice(Training{}, {.kernels = 4, .launch = 6}).judge();
  const Finding* f = find(j, "compute.launch_bound");
  REQUIRE(f);
  CHECK(std::abs(f->shareRatio - 0.6) < 0.01);
  CHECK(f->confidence == Confidence::kMedium);
  const Advice* a = adviceIn(*f, "compile_step");
  REQUIRE(a);
  // 60 % of 6 ms: 10 / 6.4.
  CHECK(std::abs(*a->predicted.speedup - 10 / 6.4) < 0.05);
  checkNoneBelow(j, 0.4);
}

TEST_CASE("no gain goes below the device's own work, whatever the host is freed of") {
  for (const double kernels : {5.0, 7.0, 9.0}) {
    const double left = 10 - kernels;
    checkNoneBelow(withDevice(Training{}, {.kernels = kernels, .launch = left}).judge(),
                   kernels / 10);
    checkNoneBelow(withDevice(Training{}, {.kernels = kernels, .sync = left, .syncs = 2}).judge(),
                   kernels / 10);
    Training waits{.workers = 1, .compute = kernels, .waitTransform = left, .batchCpu = 10};
    checkNoneBelow(withDevice(waits, {.kernels = kernels}).judge(), kernels / 10);
  }
}

TEST_CASE("a starved trainer launches late for want of a core, not of launching") {
  Training t;
  t.starved = 4;
  CHECK(find(withDevice(t, {.kernels = 4, .launch = 6}).judge(), "compute.launch_bound") ==
        nullptr);
}

TEST_CASE("sync points need a wait in at least every second step") {
  CHECK(find(withDevice(Training{}, {.kernels = 7, .sync = 2, .syncs = 0.1}).judge(),
             "compute.sync_points") == nullptr);
  const Judgement j = withDevice(Training{}, {.kernels = 7, .sync = 2, .syncs = 3}).judge();
  const Finding* f = find(j, "compute.sync_points");
  REQUIRE(f);
  CHECK(std::abs(f->shareRatio - 0.2) < 0.01);
  CHECK(says(*f, "3 long waits"));
  CHECK(j.verdict.boundBy == "compute");
  CHECK(j.verdict.healthy == Maybe<bool>(false));
}

TEST_CASE("short gaps are of the waits where the host would keep ahead without them") {
  // An H200's step with a value read after each layer: 24 waits, in which the host spends two
  // thirds.
  const Device reads{.kernels = 8.6, .sync = 0.3, .launch = 1.1, .syncs = 24, .waits = 6.7};
  const Judgement j = withDevice(Training{}, reads).judge();
  const Finding* f = find(j, "compute.sync_points");
  REQUIRE(f);
  CHECK(std::abs(f->shareRatio - 0.14) < 0.01);
  CHECK(says(*f, "without these waits the training thread works at most 33 % of the time"));
  CHECK(find(j, "compute.launch_bound") == nullptr);
  // A host that is late by itself stays so.
  const Device slow{.kernels = 3, .sync = 0.5, .launch = 6.5, .syncs = 20, .waits = 1};
  CHECK(find(withDevice(Training{}, slow).judge(), "compute.launch_bound") != nullptr);
}

TEST_CASE("pageable copies that hold up the trainer or the device are a finding, hidden ones not") {
  const Device exposed{.kernels = 6, .copies = 3, .blocking = 3};
  const Judgement j = copying(Training{}, exposed, HostMemory::kPageable, 4e9).judge();
  const Finding* f = find(j, "load.pageable_copy");
  REQUIRE(f);
  CHECK(f->where.line == 88);
  CHECK(says(*f, "4 GB/s"));
  const Advice* a = adviceIn(*f, "pin_memory");
  REQUIRE(a);
  CHECK(a->change.kind == "loader_arg");
  CHECK(*a->predicted.speedup > 1.2);
  CHECK(*a->predicted.high <= 10 / 6.0 * 1.1);
  // Pinned copies of a few bytes take their latency: they say nothing of the link.
  const auto gainBeside = [&](std::int64_t bytes, double rate) {
    Facts beside = copying(Training{}, exposed, HostMemory::kPageable, 4e9);
    CopyUse pinned = beside.trainer.device.copies[0];
    pinned.memory = HostMemory::kPinned;
    pinned.count = 100;
    pinned.bytes = 100 * bytes;
    pinned.time = fromSeconds(static_cast<double>(pinned.bytes) / rate);
    beside.trainer.device.copies.push_back(pinned);
    const Judgement judged = beside.judge();
    const Advice* of = adviceIn(judged, "load.pageable_copy", "pin_memory");
    return of ? *of->predicted.speedup : 0;
  };
  CHECK(gainBeside(256, 50e6) == *a->predicted.speedup);
  CHECK(gainBeside(8 << 20, 5e9) < *a->predicted.speedup);
  CHECK(gainBeside(8 << 20, 200e9) <= *a->predicted.high);
  Facts hidden = copying(Training{}, {.kernels = 9, .copies = 0.1}, HostMemory::kPageable, 4e9);
  hidden.trainer.device.copies[0].time = scaled(hidden.trainer.window(), 0.3);
  CHECK(find(hidden.judge(), "load.pageable_copy") == nullptr);
}

TEST_CASE("pinned copies at the link's speed fill the link; slower ones have another cause") {
  const Device d{.kernels = 6, .copies = 3};
  const Judgement j = copying(Training{}, d, HostMemory::kPinned, 20e9).judge();
  CHECK(find(j, "load.transfer_bandwidth") != nullptr);
  CHECK(find(j, "load.pageable_copy") == nullptr);
  CHECK(find(copying(Training{}, d, HostMemory::kPinned, 2e9).judge(), "load.transfer_bandwidth") ==
        nullptr);
}

TEST_CASE("a pin thread at a full core, while the trainer waits") {
  Facts f = withDevice(Training{.compute = 1, .waitLoad = 9}, {.kernels = 1});
  f.trace.processes.resize(1);
  f.trace.threads.resize(2);
  f.trace.processes[0].id = ProcessId{1};
  f.trace.processes[0].threads = {ThreadId{2}};
  ThreadLife& pin = f.trace.threads[1];
  pin.id = ThreadId{2};
  pin.process = ProcessId{1};
  pin.name = f.trace.strings.intern("pt_data_pin");
  ThreadSlice slice;
  slice.thread = pin.id;
  slice.duration = f.trainer.window();
  slice.run = scaled(f.trainer.window(), 0.97);
  slice.wait = Wait::kRunning;
  pin.slices.push_back({f.trainer.windowBegin, slice});
  const Judgement j = f.judge();
  const Finding* found = find(j, "load.pin_thread");
  REQUIRE(found);
  CHECK(*found->advice.at(0).predicted.high <= 4);  // a quarter of the bytes, however long it waits
  pin.slices[0].data.run = scaled(f.trainer.window(), 0.5);
  CHECK(find(f.judge(), "load.pin_thread") == nullptr);
}

TEST_CASE("data that the loop makes beside a busy device holds nothing up") {
  const auto making = [](double kernels) {
    Facts f = withDevice(Training{}, {.kernels = kernels});
    f.trainer.loader = -1;
    f.trace.loaders.clear();
    f.trainer.source = StepSource::kOptimizer;
    f.trainer.works.clear();
    StackFacts& s = f.trainer.stacks;
    for (int i = 0; i < 400; ++i) {
      s.trainer.add(&s + i);
      s.step.add(i < 160 ? Phase::kTransform : Phase::kCompute, &s + i, 0.005);
    }
    s.trainerTime = s.step.time;
    return f.judge();
  };
  CHECK(find(making(4), "transform.in_process") != nullptr);
  const Judgement busy = making(9.7);
  CHECK(find(busy, "transform.in_process") == nullptr);
  CHECK(busy.verdict.healthy != Maybe<bool>(false));
}

TEST_CASE("kernels that fill less than half of the device are too small") {
  Facts f = withDevice(Training{}, {.kernels = 9});
  KernelUse k;
  k.name = "small";
  k.count = 100;
  k.time = k.filledOf = ms(100);
  k.filled = ms(20);
  f.trainer.device.kernels.push_back(k);
  const Finding* found = nullptr;
  const Judgement j = f.judge();
  found = find(j, "compute.underfilled");
  REQUIRE(found);
  CHECK(says(*found, "20 % of the multiprocessors"));
  CHECK(adviceIn(*found, "larger_batch") == nullptr);  // nothing is known of its memory
  f.trainer.device.gauges.push_back(gauge(f, 0.9));
  const Judgement roomy = f.judge();
  REQUIRE(find(roomy, "compute.underfilled"));
  const Advice* a = adviceIn(*find(roomy, "compute.underfilled"), "larger_batch");
  REQUIRE(a);
  CHECK(a->change.to == "64");
  CHECK(a->risk.find("60 GB free") != std::string::npos);
  f.trainer.device.gauges[0].memoryPeak = 50'000'000'000;
  CHECK(adviceIn(*find(f.judge(), "compute.underfilled"), "larger_batch") == nullptr);
  f.trainer.device.kernels[0].filled = ms(80);
  CHECK(find(f.judge(), "compute.underfilled") == nullptr);
}

TEST_CASE("without a timeline no confidence is above medium, and the report says why") {
  Training t{.workers = 1, .compute = 10, .waitTransform = 20, .batchCpu = 30};
  Facts f = factsOf(t);
  f.trainer.stacks.makingRunning.add(Phase::kTransform, &f, 1, 100);
  CHECK(f.judge().verdict.confidence == Confidence::kHigh);
  f.trainer.device.seen = true;
  const Judgement j = f.judge();
  CHECK(j.verdict.boundBy == "transform");
  CHECK(j.verdict.confidence == Confidence::kMedium);
  for (const Finding& one : j.findings) CHECK(one.confidence <= Confidence::kMedium);
  CHECK(std::any_of(j.notMeasured.begin(), j.notMeasured.end(), [](const std::string& line) {
    return line.find("busy times of the device") != std::string::npos;
  }));
  // Seen from outside, and alone on the device: 60 % busy leaves a factor of 1.67 at the most.
  f.trainer.device.gauges.push_back(gauge(f, 0.6));
  checkNoneBelow(f.judge(), 0.6);
  DeviceProcess other;
  other.device = f.trainer.device.gauges[0].device;
  f.trace.deviceProcesses.push_back({Nanos{}, other});
  CHECK(bestSpeedup(*find(f.judge(), "transform.too_few_workers")) > 1.7);
}

TEST_CASE("the monitoring library alone can show a busy device, with medium confidence") {
  Facts f = factsOf(Training{});
  f.trainer.device.seen = true;
  f.trainer.device.gauges.push_back(gauge(f, 0.97));
  const Judgement j = f.judge();
  REQUIRE_FALSE(j.findings.empty());
  CHECK(j.findings[0].id == "compute.device_bound");
  CHECK(j.findings[0].confidence == Confidence::kMedium);
  CHECK(j.verdict.confidence == Confidence::kMedium);
}

TEST_CASE(
    "of several devices of a host that counts which the trainer uses; not known, the least busy "
    "one") {
  Facts f = factsOf(Training{});
  f.trainer.device.seen = true;
  f.trainer.device.gauges = {gauge(f, 0.40), gauge(f, 0.99)};
  f.trainer.device.gauges[1].device = f.trace.strings.intern("GPU-2");  // another's job
  CHECK(find(f.judge(), "compute.device_bound") == nullptr);
  DeviceProcess ours;
  ours.device = f.trainer.device.gauges[0].device;
  ours.process = f.trainer.process;
  f.trace.deviceProcesses.push_back({Nanos{}, ours});
  CHECK(find(f.judge(), "compute.device_bound") == nullptr);
  f.trace.deviceProcesses[0].data.device = f.trainer.device.gauges[1].device;
  CHECK(find(f.judge(), "compute.device_bound") != nullptr);
}

TEST_CASE("clocks held down cost what the device's work would gain without") {
  Facts f = withDevice(Training{}, {.kernels = 9.5});
  DeviceGauge g = gauge(f, 0.95);
  g.throttledRatio = 0.8;
  g.throttleReasons = 0x40;
  g.throttledClockMhz = 1200;
  g.maxClockMhz = 2000;
  f.trainer.device.gauges.push_back(g);
  const Judgement j = f.judge();
  const Finding* found = find(j, "host.gpu_throttled");
  REQUIRE(found);
  CHECK(says(*found, "heat"));
  CHECK(j.verdict.boundBy == "host");
  // At most 0.95 * 0.8 * 0.4 = 30 % off.
  CHECK(*found->advice[0].predicted.speedup < 1 / 0.7);
  CHECK(*found->advice[0].predicted.speedup > 1.1);
  f.trainer.device.gauges[0].throttledClockMhz = 1950;
  CHECK(find(f.judge(), "host.gpu_throttled") == nullptr);
}

TEST_CASE("the device's work of an evaluation leaves with it") {
  Facts f = withDevice(Training{.compute = 6, .periodic = 4}, {.kernels = 9.7});
  const Nanos begin = f.trainer.windowBegin;
  f.trainer.epochs.push_back(
      {.begin = begin, .end = begin + scaled(f.trainer.window(), 0.4), .evaluation = true});
  const Judgement j = f.judge();
  const Finding* found = find(j, "periodic.evaluation");
  REQUIRE(found);
  CHECK(*adviceIn(*found, "separate_evaluation")->predicted.speedup == Approx(1 / 0.6));
  CHECK(*adviceIn(*found, "rarer_evaluation")->predicted.speedup == Approx(1.25));
  CHECK(j.verdict.boundBy == "periodic");
}

TEST_CASE("a device that others use is a finding, by what they had of its time") {
  // Two trainings of a whole device each, as an H200 showed them.
  Facts f = withDevice(Training{}, {.kernels = 9.5});
  DeviceGauge g = gauge(f, 0.95);
  g.othersRatio = 0.5;
  g.othersNamed = "process 981";
  f.trainer.device.gauges = {g};
  const Judgement j = f.judge();
  REQUIRE(!j.findings.empty());
  CHECK(j.findings[0].id == "host.gpu_shared");
  const Advice* a = adviceIn(j.findings[0], "own_device");
  REQUIRE(a);
  CHECK(std::abs(*a->predicted.high - 1 / (1 - 0.95 * 0.5)) < 0.02);
  CHECK(says(j.findings[0], "process 981"));
  CHECK(j.verdict.healthy == Maybe<bool>(false));
  f.trainer.device.gauges[0].othersRatio = 0.05;
  CHECK(find(f.judge(), "host.gpu_shared") == nullptr);
}

TEST_CASE("exposed collectives; and the rank that the others wait for") {
  Facts f = withDevice(Training{}, {.kernels = 6, .collectives = 3});
  CHECK(find(f.judge(), "comm.collective_bound") != nullptr);
  f.run.balance.ranks = {{ProcessId{1}, 0.3}, {ProcessId{5}, 0.28}};
  CHECK(find(f.judge(), "comm.straggler_rank") == nullptr);
  f.run.balance.ranks = {{ProcessId{1}, 0.3}, {ProcessId{5}, 0.05}, {ProcessId{6}, 0.31}};
  const Judgement j = f.judge();
  const Finding* last = find(j, "comm.straggler_rank");
  REQUIRE(last);
  CHECK(std::abs(last->shareRatio - 0.25) < 0.01);
  CHECK(find(j, "comm.collective_bound") == nullptr);
  f.run.balance.ranks = {{ProcessId{1}, 0.05}, {ProcessId{5}, 0.3}, {ProcessId{6}, 0.31}};
  CHECK(find(f.judge(), "comm.straggler_rank") == nullptr);  // this rank is the late one
}

TEST_CASE(
    "what is estimated from a part of the window is at most of medium confidence, and says so") {
  const Judgement j =
      withDevice(Training{}, {.kernels = 7, .sync = 2, .syncs = 3, .traced = 0.2}).judge();
  const Finding* f = find(j, "compute.sync_points");
  REQUIRE(f);
  CHECK(f->confidence <= Confidence::kMedium);
  CHECK(says(*f, "20 % of the window"));
  CHECK(std::any_of(j.notMeasured.begin(), j.notMeasured.end(), [](const std::string& line) {
    return line.find("estimated") != std::string::npos;
  }));
}

TEST_CASE("the device's idle time that tracing made is not the program's") {
  // A fifth of the steps is traced and takes 1.31 times as long: 24 % of that time, of which the
  // device idles 20 %.
  Device traced{.kernels = 8, .launch = 1, .traced = 0.2, .slowed = 1.25, .launches = 1000};
  const auto device = [](const Device& d) {
    return withDevice(Training{}, d).trainer.device.devices[0];
  };
  CHECK(device(traced).idle.total() == Nanos{});
  CHECK(device(traced).traced == device(traced).busy());
  // No more than its launches can have cost: 20 of 15 us are 3 % of a step of 10 ms.
  traced.launches = 20;
  CHECK(seconds(device(traced).busy()) / seconds(device(traced).traced) ==
        Approx(0.8 / (1 - 0.03 / 1.25)).epsilon(0.001));
  // What is idle beyond that stays.
  const Device waits{.kernels = 2, .sync = 1, .traced = 0.2, .slowed = 1.25, .launches = 1000};
  CHECK(seconds(device(waits).busy()) / seconds(device(waits).traced) == Approx(0.2 * 1.3125));
}

TEST_CASE("where tracing slows steps down, what the device does in a step is of the steps traced") {
  const Device half{.kernels = 2, .sync = 2, .syncs = 3, .traced = 0.2, .slowed = 1.25};
  const Facts slowed = withDevice(Training{}, half);
  CHECK(syncsPerStep(slowed.trainer) == Approx(3 * 1.25).epsilon(0.02));
  CHECK(tracingSlowdown(slowed.trainer) == Approx(0.84 / 0.8 * 1.25));
  const auto said = [](const Facts& facts) {
    const auto lines = facts.judge().notMeasured;
    return std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
      return line.find("in which a step took 1.31 times as long") != std::string::npos;
    });
  };
  CHECK(said(slowed));
  CHECK_FALSE(said(withDevice(Training{}, {.kernels = 2, .traced = 0.2})));
}

TEST_CASE("batches made in the trainer while the device works: workers leave the device's time") {
  // A step of 40 ms: 30 of fetch, of which the device's 25 ms of work hides 20, then 10 of
  // launching.
  Training t{.workers = 0, .compute = 10, .waitTransform = 30, .batchCpu = 30};
  Facts f = withDevice(t, {.kernels = 25});
  const auto hide = [](Split& s, Blame& b, Nanos hidden) {
    s.wait -= hidden;
    s.compute += hidden;
    s.hidden += hidden;
    b.transform -= hidden;
  };
  for (Step& s : f.trainer.steps) hide(s.split, s.blame, ms(20));
  hide(f.trainer.split, f.trainer.blame, ms(20.0 * static_cast<double>(f.trainer.windowSteps())));
  const Judgement j = f.judge();
  const Advice* a = adviceIn(j, "transform.in_process", "more_workers");
  REQUIRE(a);
  CHECK(std::abs(*a->predicted.speedup - 40 / 25.0) < 0.06);
  checkNoneBelow(j, 25 / 40.0);
}

TEST_CASE("a step in the model is as long as the longer of host and device") {
  Workload w;
  w.batches = {BatchDemand{}};
  w.steps = {StepDemand{.own = 0.010}};
  w.device = 0.006;
  PipelineSettings s;
  s.cores = 4;
  const auto time = [&] { return simulate(w, s, drawInOrder(100)); };
  CHECK(std::abs(time() - 0.010) < 1e-4);
  s.ownScale = 0.8;
  CHECK(std::abs(time() - 0.008) < 1e-4);
  s.ownScale = 0.1;
  CHECK(std::abs(time() - 0.006) < 1e-4);
  s.deviceScale = 0.5;
  CHECK(std::abs(time() - 0.003) < 1e-4);
}
