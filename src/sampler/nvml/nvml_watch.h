// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "event/vocabulary.h"
#include "sampler/nvml/nvml_device.h"

namespace stallprof {

// What a step found, in order; `device` is an index into all devices found so far.
struct NvmlFindings {
  struct Usage {
    Nanos at{};
    std::size_t device = 0;
    DeviceUsage usage;
  };
  struct Processes {
    Nanos at{};
    std::size_t device = 0;
    std::vector<NvmlProcess> processes;
  };
  struct State {
    Nanos at{};
    std::string source;  // "nvml" or "gpm"
    Coverage coverage = Coverage::kAbsent;
    std::string why;
  };
  std::vector<NvmlSeen> devices;  // new ones
  std::vector<Usage> usages;
  std::vector<Processes> processes;
  std::vector<State> states;  // only what changed
};

// All devices that the monitoring library shows (at most 16, MIG instances beside their board),
// each sampled when it is due: five times a second, once while nobody used it yet, and less often
// where the samples would cost too much. Every call may block in the driver for long: it belongs on
// a thread of its own.
class NvmlWatch {
 public:
  // `libraries` are tried in order. `cpu`: the CPU time of the calling thread, by which samples are
  // held to their budget.
  explicit NvmlWatch(std::vector<std::string> libraries, std::function<Nanos()> cpu = threadCpu);

  // Does what is due, opening the library first; gives the time of the next step.
  Nanos step(Nanos now, NvmlFindings& out);

 private:
  struct Watched {
    NvmlSeen seen;
    std::unique_ptr<NvmlDevice> device;  // null: not to be had now
    int code = nvml::kSuccess;           // why not, or why it was lost
    Nanos due{}, listedAt{-1}, reportedAt{-1}, processesReportedAt{-1};
    bool idle = true;    // nobody used it yet
    bool split = false;  // a board in MIG mode: work is on its instances
    DeviceUsage reported;
    std::vector<NvmlProcess> processes;
  };
  bool open(Nanos now, NvmlFindings& out);
  [[nodiscard]] std::string openLibrary();
  void findDevices(NvmlFindings& out);
  void findInstances(nvml::Device board, int ordinal, NvmlFindings& out);
  // Null where it cannot be kept; valid until the next call.
  Watched* keep(nvml::Device handle, int ordinal, bool instance, NvmlFindings& out);
  void sample(std::size_t index, Nanos now, NvmlFindings& out);
  void lose(Watched& watched, Nanos now);
  void report(std::size_t index, Nanos now, const DeviceUsage& usage, NvmlFindings& out);
  void reportProcesses(std::size_t index, Nanos now, NvmlFindings& out);
  void reportStates(Nanos now, NvmlFindings& out);
  void reportState(Nanos now, std::size_t which, Coverage coverage, std::string why,
                   NvmlFindings& out);
  [[nodiscard]] Nanos period(const Watched& watched) const;

  std::vector<std::string> libraries_;
  std::function<Nanos()> cpu_;
  std::optional<nvml::Api> api_;
  std::string driver_;
  std::vector<Watched> watched_;
  std::vector<std::string> hidden_;  // boards that cannot be opened, and why
  bool open_ = false;
  Nanos openAt_{}, statesAt_{};
  bool warm_ = false;
  Nanos cost_{};  // CPU of all devices' samples, once each, a moving mean
  NvmlFindings::State reportedStates_[2];
};

}  // namespace stallprof
