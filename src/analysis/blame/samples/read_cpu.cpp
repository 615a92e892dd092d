// SPDX-License-Identifier: MIT
#include "analysis/blame/samples/read_cpu.h"

#include <algorithm>

#include "analysis/facts/run_facts.h"
#include "analysis/facts/usage.h"

namespace stallprof {
namespace {

// The most a read can cost: 16 us a call of a 64 kB receive was measured here, bytes are copied at
// 2 GB/s and more.
constexpr double kCallSeconds = 20e-6, kBytesPerSecond = 1e9;
constexpr double kMinCpu = 0.2;  // seconds: 50 ticks at 250 Hz

}  // namespace

Maybe<double> faultSeconds(const Trace& trace) {
  constexpr double kMany = 5000;   // faults in an interval: at 1 us each, 5 ms of system time
  constexpr double kMin = 0.2e-6;  // seconds: a fault on bare metal; below it ticks were missed
  double system = 0, faults = 0;
  for (const ProcessLife& process : trace.processes)
    for (std::size_t i = 1; i < process.usage.size(); ++i) {
      const ProcessUsage &a = process.usage[i - 1].data, &b = process.usage[i].data;
      if (a.minorFaults < 0 || b.minorFaults < 0 || a.system < Nanos{} || b.system < a.system)
        continue;
      const auto more = static_cast<double>(b.minorFaults - a.minorFaults);
      if (more >= kMany) {
        faults += more;
        system += seconds(b.system - a.system);
      }
    }
  if (faults <= 0) return std::nullopt;
  return std::max(kMin, system / faults);
}

Maybe<double> workerFaultsPerSecond(const Trace& trace, const TrainerFacts& trainer) {
  double faults = 0, cpu = 0;
  for (const WorkerFacts& worker : trainer.workers) {
    const auto& usage = trace.process(worker.process).usage;
    for (std::size_t i = 2; i < usage.size(); ++i) {
      const ProcessUsage &a = usage[i - 1].data, &b = usage[i].data;
      if (usage[i - 1].at < trainer.windowBegin || usage[i].at > trainer.windowEnd) continue;
      if (a.minorFaults < 0 || a.cpu < Nanos{} || b.cpu < a.cpu) continue;
      faults += static_cast<double>(std::max<std::int64_t>(0, b.minorFaults - a.minorFaults));
      cpu += seconds(b.cpu - a.cpu);
    }
  }
  return per(faults, cpu >= kMinCpu ? cpu : 0);
}

double readCpuShare(const Trace& trace, const std::vector<Reader>& readers) {
  double cpu = 0, system = 0, faults = 0, maximum = 0;
  for (const Reader& r : readers) {
    const ProcessLife& process = trace.process(r.process);
    const auto all = [&](auto field) { return used(process, field, r.span); };
    const auto inKernel = all(&ProcessUsage::system), minor = all(&ProcessUsage::minorFaults);
    if (!inKernel || !minor) continue;
    // What a process that trains reads, it reads in its fetches.
    cpu += r.making > Nanos{} ? seconds(r.making) : all(&ProcessUsage::cpu).value_or(0) * 1e-9;
    system += *inKernel * 1e-9;
    faults += *minor;
    maximum += all(&ProcessUsage::readCalls).value_or(0) * kCallSeconds +
               all(&ProcessUsage::readChars).value_or(0) / kBytesPerSecond + seconds(r.blocked);
  }
  if (cpu < kMinCpu) return 0;
  const double reading = system - faults * faultSeconds(trace).value_or(RunFacts::kFaultSeconds);
  return std::clamp(std::min(reading, maximum) / cpu, 0.0, 1.0);
}

}  // namespace stallprof
