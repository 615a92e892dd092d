// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "classify/kernels.h"
#include "event/vocabulary.h"

// What is known of the devices that one trainer uses, in its window. Times are of the host's clock.
namespace stallprof {

// Why a device had nothing to do, by what the trainer's thread did meanwhile.
struct DeviceIdle {
  Nanos extract{}, transform{}, load{}, unknown{};  // a data wait, by who owed the batch; load:
                                                    // also the trainer's own receiving
  Nanos copy{};                                     // the trainer stood in a copy to the device
  // It had waited for the device, which so ran dry, and launched again within kLaunchGap. Where it
  // waits in each step and would keep ahead without (settleGaps): the two below, too.
  Nanos sync{};
  Nanos launch{};       // short gaps (under kLaunchGap) while it works: launches come too slowly
  Nanos host{};         // longer ones: its own work, Python or operators on the CPU
  Nanos hostBridged{};  // of these: in gaps that work launched ahead could bridge (kBridged)
  Nanos comm{};         // a collective
  Nanos checkpoint{}, evaluation{};
  Nanos other{};
  [[nodiscard]] Nanos data() const { return extract + transform + load + unknown; }
  [[nodiscard]] Nanos total() const {
    return data() + copy + sync + launch + host + comm + checkpoint + evaluation + other;
  }
};
// Of the window, traced: less is an estimate.
inline constexpr double kWholeTrace = 0.95;
// A launch costs the host about 10 us and a framework's operator 20 to 100; what leaves the device
// idle for longer than this is not the launching of the next operator but other work.
inline constexpr Nanos kLaunchGap{1'000'000};
// How far launched work reaches ahead: assumed, some 1,000 launches of some 100 us each.
inline constexpr Nanos kBridged{100'000'000};

// One device's traced time: kernels + copies + collectives + idle.total() == traced.
struct DeviceBusy {
  StringId device;
  Nanos traced{};
  Nanos kernels{}, copies{}, collectives{};  // copies: nothing but copies; collectives: nothing but
                                             // those and copies
  std::uint64_t works = 0;
  DeviceIdle idle;
  [[nodiscard]] Nanos busy() const { return kernels + copies + collectives; }
};

struct KernelUse {
  std::string name;  // shortened; bytes of the job's
  KernelCategory category = KernelCategory::kOther;
  std::uint64_t count = 0;
  Nanos time{}, filled{}, filledOf{};  // filled: of `filledOf`, the part whose grid was known
};

struct CopyUse {
  DeviceWorkKind kind = DeviceWorkKind::kOther;
  HostMemory memory = HostMemory::kUnknown;
  std::uint64_t count = 0;
  Nanos time{};
  std::int64_t bytes = -1;
};

struct CallUse {
  std::string name;
  DeviceCallKind kind = DeviceCallKind::kOther;
  std::uint64_t count = 0;
  Nanos time{};
};

// What the monitoring library said of one device in the window. nullopt: it did not say.
struct DeviceGauge {
  StringId device;
  std::optional<double> busyRatio, smActiveRatio, occupancyRatio, tensorRatio, dramRatio;
  std::optional<double> powerWatts, clockMhz, maxClockMhz;
  std::optional<double> othersRatio;  // of its time, that processes beside the trainer's had
  std::string othersNamed;  // the one that had most: "process 981 (python3)"; empty: not visible
  std::optional<double> throttledRatio;  // of the time, by power or heat
  std::optional<double> throttledClockMhz;
  std::int64_t throttleReasons = 0;  // all bits seen while throttled
  std::int64_t memoryTotal = -1, memoryFirst = -1, memoryLast = -1, memoryPeak = -1;
};

// Where the trainer was while it waited inside calls of one kind, by samples of its stack.
struct CallSite {
  StackId hot, user;
  double samples = 0, all = 0;
};

// Steps, parts of them too, and their time.
struct StepSum {
  double steps = 0;
  Nanos time{};
  void add(double part, Nanos length) {
    steps += part;
    time += length;
  }
};

struct DeviceFacts {
  bool seen = false;       // the trainer's process uses a device
  bool timeline = false;   // enough of the window was traced to know busy from idle
  Nanos traced{};          // of the window, with kernels recorded
  Nanos covered{};         // of the window, with copies and synchronizations recorded
  StepSum plain;           // the window's steps that are no boundary
  StepSum tracedPlain;     // what is traced of these
  double tracedSteps = 0;  // of the window's steps what lies in `traced`
  Nanos longGaps{};        // of `traced`: no device worked for kLaunchGap or longer, and the
                           // trainer's thread was in no call that blocks
  std::vector<DeviceBusy> devices;  // that the trainer uses, most busy first
  std::vector<KernelUse> kernels;   // most time first
  Nanos kernelTime{};               // summed over works
  std::vector<CopyUse> copies;
  std::vector<CallUse> calls;  // of the trainer's process, most time first
  std::vector<DeviceGauge> gauges;
  std::uint64_t syncs = 0;  // long waits of the trainer's thread, in `traced`
  Nanos syncTime{};         // that it spent in them
  CallSite syncSite, copySite;
};

}  // namespace stallprof
