// SPDX-License-Identifier: MIT
// What `verify` and `tune` left beside a recording, and what the reports say of it.
#include <cstdint>
#include <cstdlib>

#include "experiment/trials_file.h"
#include "present/formats.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stallprof;
  const auto trials = parseTrials(std::string(reinterpret_cast<const char*>(data), size));
  if (!trials.ok()) return 0;
  Analysis analysis;
  Finding finding;
  finding.id = "transform.in_process";
  Advice advice;
  advice.id = "more_workers";
  advice.change = {"loader_arg", "num_workers", "0", "2"};
  advice.predicted.speedup = 1.6;
  finding.advice = {advice};
  analysis.findings = {finding};
  applyTrials(trials.value(), analysis);
  for (const Trial& trial : trials.value().trials) (void)outcomeText(trial);
  if (reportFormats().front().write(analysis, {}).empty()) std::abort();
  if (!parseTrials(trialsJson(trials.value())).ok()) std::abort();
  return 0;
}
