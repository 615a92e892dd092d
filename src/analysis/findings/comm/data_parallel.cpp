// SPDX-License-Identifier: MIT
// comm.data_parallel: one process drives several devices.
#include "analysis/findings/comm/ranks_evidence.h"

namespace stallprof {
namespace {

constexpr std::string_view kScatter = "torch.data_parallel";  // rule of classify/rules/torch.toml

const AdviceDefinition kOneProcessADevice =
    deviceAdvice("one_process_a_device",
                 "Replace DataParallel by DistributedDataParallel with one process per device, "
                 "started with torchrun. The Python code of each process then drives one device.");

Maybe<Finding> dataParallel(const Evidence& e) {
  if (e.device.devices < 2) return {};
  double samples = 0, all = 0;
  for (const FunctionSamples& f : e.trainer.stacks.functions) {
    if (f.side != Side::kTrainer) continue;
    all += f.samples;
    if (f.rule == kScatter) samples += f.samples;
  }
  if (samples <= 0) return {};
  Finding f =
      deviceFinding(e, samples / all, "DataParallel drives several devices from one process");
  f.confidence = Confidence::kLow;
  addEvidence(f, "{} in one process",
              {countWord(static_cast<std::int64_t>(e.device.devices), "device")}, {});
  addEvidence(f, "{} of the samples are in scattering and gathering", {ratioWord(samples / all)});
  return withAdvice(
      f, {adviceOf(
             kOneProcessADevice, {"code", "model", "DataParallel", "DistributedDataParallel"}, {},
             "each process has its own loader: divide num_workers by the number of processes")});
}

}  // namespace

extern const FindingDefinition kDataParallel(
    "comm.data_parallel", dataParallel, offers(kOneProcessADevice),
    {.cause =
         R"(DataParallel drives several devices from one process. This process then limits the pace.)",
     .rule =
         R"(one process uses more than one device, and samples of the training thread are in
  scattering or gathering of torch.nn.DataParallel.)",
     .fixes = R"(- DistributedDataParallel: one process per device.)",
     .wrong = R"(the model is so large that its compute time hides this cost.)"});

}  // namespace stallprof
