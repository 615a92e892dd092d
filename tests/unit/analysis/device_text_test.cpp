// SPDX-License-Identifier: MIT
//
// Findings about devices from traces as text, with shares worked out by hand: those that no golden
// shows.
#include <algorithm>
#include <cmath>

#include "tests/unit/analysis/found.h"

using namespace stallprof;
using namespace stallprof::test;

namespace {

const std::string kGpu = "\"GPU-11111111-2222-3333-4444-555555555555\"";

// 200 steps of 60 ms, at T: next() until T + fetch, then the trainer's own work. `step` is what is
// repeated with them.
std::string deviceTraining(const std::string& fetch, const std::string& step) {
  return kTrainer + kWorker +
         "manifest cores_online=8\nmanifest cores_usable=8\nmanifest started=1s\n"
         "1s framework process=1 name=\"torch\"\n"
         "1s loader process=1 loader=1 kind=\"torch.DataLoader\" workers=1 batch_size=32 "
         "prefetch=2 pin_memory=1\n"
         "1s iterator thread=1 loader=1 epoch=1 key=11 duration=15ms cpu=5ms\n"
         "1020ms worker thread=2 key=11 worker=0 workers=1\n"
         "repeat 200 every 60ms\n"
         "1080ms task thread=2 key=11 batch=0+1*i fetch_end=20ms put_end=20ms cpu=20ms "
         "process_cpu=20ms bytes=160000000\n"
         "1080ms slice thread=2 duration=60ms run=20ms samples=6 wait=pipe\n"
         "1100ms fetch thread=1 loader=1 epoch=1 duration=" +
         fetch +
         " cpu=200us batch=0+1*i worker=0 ready=2\n"
         "1100ms slice thread=1 duration=60ms run=39ms samples=6 wait=running\n"
         "1155ms optimizer thread=1 duration=4ms optimizer=1\n" +
         step + "end\n13100ms fetch thread=1 loader=1 epoch=1 duration=1ms end=1\n";
}

// A device of 132 multiprocessors, traced throughout: each step a copy from pinned memory at T + 1
// for `copy` ms, then kernels until T + 59, for 50 ms if there is room, whose grids fill `filled`.
std::string device(double copy, double filled) {
  const auto ms = [](double v) { return std::to_string(static_cast<long>(v * 1000)) + "us"; };
  const std::string of = " device=" + kGpu + " process=1 duration=";
  const double kernels = std::min(50.0, 58 - copy);
  return "1101ms device_span" + of + ms(copy) + " busy=" + ms(copy) + " copy_only=" + ms(copy) +
         " works=1\n" + std::to_string(1159 - std::lround(kernels)) + "ms device_span" + of +
         ms(kernels) + " busy=" + ms(kernels) + " works=40\n" +
         // Of the step: one copy of 160 MB, and 40 kernels.
         "1100ms device_use" + of + "60ms kind=to_device memory=pinned count=1 time=" + ms(copy) +
         " bytes=160000000\n1100ms device_use" + of +
         "60ms kind=kernel name=\"small\" count=40 time=50ms filled=" + ms(50 * filled) + "\n";
}

const std::string kDevice = "1s device device=" + kGpu +
                            " name=\"NVIDIA H100\" process=1 ordinal=0 sms=132 major=9 minor=0 "
                            "memory=85000000000\n"
                            "1s device_trace process=1 duration=13s kernels=1 calls=1\n";
// 20 GB in use of 85, more for one sample.
const std::string kMemory = "repeat 24 every 500ms\n1100ms device_usage device=" + kGpu +
                            " busy=960 memory=20000000000 memory_total=85000000000\nend\n"
                            "5s device_usage device=" +
                            kGpu + " busy=960 memory=25000000000 memory_total=85000000000\n";

}  // namespace

TEST_CASE("pinned copies at 20 GB/s that the device does nothing beside: 8 of 60 ms") {
  const Analysis a = analyze(traceOf(deviceTraining("300us", device(8, 0.9)) + kDevice));
  const Finding* f = find(a, "load.transfer_bandwidth");
  REQUIRE(f);
  CHECK(near(f->shareRatio, 8.0 / 60, 0.002));
  CHECK(f->phase == Phase::kLoad);
  REQUIRE_FALSE(f->advice.empty());
  CHECK(f->advice[0].id == "copy_fewer_bytes");
  CHECK(find(a, "load.pageable_copy") == nullptr);
  // 160 MB in 20 ms are 8 GB/s: something else than the link holds them up.
  CHECK(find(analyze(traceOf(deviceTraining("300us", device(20, 0.9)) + kDevice)),
             "load.transfer_bandwidth") == nullptr);
}

TEST_CASE("kernels on a third of the device: 50 of 60 ms, 70 % of it unused") {
  const Analysis a = analyze(traceOf(deviceTraining("300us", device(1, 0.3)) + kDevice));
  const Finding* f = find(a, "compute.underfilled");
  REQUIRE(f);
  CHECK(near(f->shareRatio, 50.0 / 60 * 0.7, 0.002));
  CHECK(find(analyze(traceOf(deviceTraining("300us", device(1, 0.6)) + kDevice)),
             "compute.underfilled") == nullptr);
}

TEST_CASE("the device's memory: its peak, and what is left for a larger batch") {
  const Analysis a = analyze(traceOf(deviceTraining("300us", device(1, 0.3)) + kDevice + kMemory));
  REQUIRE(a.device);
  REQUIRE(a.device->devices.size() == 1);
  CHECK(a.device->devices[0].memoryPeak == 25'000'000'000);
  CHECK(a.device->devices[0].memoryHeadroom == 60'000'000'000);
  const Finding* f = find(a, "compute.underfilled");
  REQUIRE(f);
  REQUIRE_FALSE(f->advice.empty());
  CHECK(f->advice[0].id == "larger_batch");
  CHECK(f->advice[0].change.to == "64");
  CHECK(f->advice[0].risk.find("60 GB free at its peak") != std::string::npos);
}

TEST_CASE("a pin thread that runs 58 of 60 ms while the trainer waits 20 of them") {
  const auto pin = [](const std::string& run) {
    return "0 thread thread=3 process=1 tid=103 name=\"pt_data_pin\"\n" +
           deviceTraining("20200us", "1100ms slice thread=3 duration=60ms run=" + run +
                                         " samples=6 wait=running\n");
  };
  const Analysis a = analyze(traceOf(pin("58ms")));
  const Finding* f = find(a, "load.pin_thread");
  REQUIRE(f);
  CHECK(near(f->shareRatio, 20.0 / 60, 0.002));
  CHECK(find(analyze(traceOf(pin("30ms"))), "load.pin_thread") == nullptr);
}

TEST_CASE("collectives that the device runs alone: 10 of 60 ms, with the sizes that NCCL says") {
  const std::string of = " device=" + kGpu + " process=1 duration=";
  const std::string step =
      "1105ms device_span" + of + "50ms busy=50ms collective_only=10ms works=40\n" +
      "1100ms device_use" + of + "60ms kind=kernel name=\"gemm\" count=38 time=40ms filled=39ms\n" +
      "1100ms device_use" + of +
      "60ms kind=collective name=\"ncclDevKernel_AllReduce_Sum_f32_RING_LL\" count=2 time=10ms\n"
      "1150ms range thread=1 duration=20us name=\"ncclAllReduce\" domain=\"NCCL\" bytes=50000000\n"
      "1151ms range thread=1 duration=20us name=\"ncclAllReduce\" domain=\"NCCL\" bytes=50000000\n"
      "1152ms range thread=1 duration=20us name=\"mine\" bytes=7\n";
  const Analysis a = analyze(traceOf(deviceTraining("300us", step) + kDevice));
  const Finding* f = find(a, "comm.collective_bound");
  REQUIRE(f);
  CHECK(near(f->shareRatio, 10.0 / 60, 0.002));
  std::vector<std::string> messages;
  for (const auto& e : f->evidence)
    if (e.text.find("a step") != std::string::npos) messages.push_back(e.text);
  CHECK(messages == std::vector<std::string>{"ncclAllReduce: 2 calls and 100 MB a step"});
}

TEST_CASE("DataParallel on two devices of one process, and on one it is none") {
  const std::string stacks =
      "1s stack stack=1 function=\"train\" file=\"/home/me/train.py\" line=3\n"
      "1s stack stack=2 caller=1 function=\"scatter\" "
      "file=\"/usr/lib/python3/dist-packages/torch/nn/parallel/scatter_gather.py\" line=9\n";
  // A sample in each 10 ms of a step from T + 10 on: one of five scatters.
  const std::string samples =
      "1110ms stack_slice thread=1 stack=2 samples=1\n"
      "1120ms stack_slice thread=1 duration=30ms stack=1 samples=4\n";
  const std::string second = "\"GPU-22222222-2222-3333-4444-555555555555\"";
  const std::string other =
      "1s device device=" + second +
      " name=\"NVIDIA H100\" process=1 ordinal=1 sms=132 major=9 minor=0 memory=85000000000\n"
      "repeat 200 every 60ms\n1120ms device_span device=" +
      second + " process=1 duration=30ms busy=30ms works=20\nend\n";
  const std::string one = stacks + deviceTraining("300us", samples + device(1, 0.9)) + kDevice;
  const Analysis a = analyze(traceOf(one + other));
  const Finding* f = find(a, "comm.data_parallel");
  REQUIRE(f);
  CHECK(near(f->shareRatio, 0.2, 0.002));
  REQUIRE_FALSE(f->advice.empty());
  CHECK(f->advice[0].id == "one_process_a_device");
  CHECK(find(analyze(traceOf(one)), "comm.data_parallel") == nullptr);
}
