// SPDX-License-Identifier: MIT
#include "analysis/launch_cadence.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "analysis/device_time.h"
#include "base/stats.h"
#include "base/text.h"

namespace stallprof {
namespace {

constexpr std::size_t kFewestComings = 6;  // of a name, in all stretches: five laps
constexpr std::size_t kFewestNames = 2;    // that agree
constexpr double kEvenComings = 0.90;      // of a name's distances are its usual one
constexpr double kSameDistance = 0.05;     // a step in ten may log, and launch a little more
constexpr std::size_t kMostSteps = 1u << 20;

struct Kernel {
  Nanos begin{}, end{};
  StringId name;
  std::size_t stretch = 0;
};

bool launched(DeviceWorkKind kind) {
  return kind == DeviceWorkKind::kKernel || kind == DeviceWorkKind::kCollective ||
         kind == DeviceWorkKind::kGraph;
}

ProcessId busiestProcess(const Trace& trace, const Roles& roles) {
  std::map<ProcessId, std::size_t> kernels;
  for (const auto& row : trace.deviceWorks)
    if (launched(row.data.kind) && roles.of(row.data.process) != Role::kWorker)
      ++kernels[row.data.process];
  kernels.erase(ProcessId{});
  const auto most = std::max_element(kernels.begin(), kernels.end(),
                                     [](auto& a, auto& b) { return a.second < b.second; });
  return most == kernels.end() ? ProcessId{} : most->first;
}

ThreadId launchingThread(const Trace& trace, ProcessId process) {
  std::map<ThreadId, std::uint64_t> launches;
  for (const auto& row : trace.deviceCallUses)
    if (row.data.kind == DeviceCallKind::kLaunch && !row.data.thread.none() &&
        trace.thread(row.data.thread).process == process)
      launches[row.data.thread] += row.data.count;
  const auto most = std::max_element(launches.begin(), launches.end(),
                                     [](auto& a, auto& b) { return a.second < b.second; });
  return most == launches.end() ? ThreadId{} : most->first;
}

// When every kernel of a process, and when any total of them, was told of.
struct Traced {
  Intervals each, kernels;
};

Traced tracedOf(const Trace& trace, ProcessId process) {
  Intervals each, kernels;
  for (const auto& row : trace.deviceTraces) {
    if (row.data.process != process || !row.data.kernels) continue;
    kernels.push_back({row.at, row.end()});
    if (row.data.each) each.push_back({row.at, row.end()});
  }
  return {joined(std::move(each)), joined(std::move(kernels))};
}

// A kernel's name as it comes back.
struct Coming {
  StringId name;
  std::vector<std::size_t> at;  // in the kernels
  double distance = 0;          // kernels from one to the next; 0: not even
  double idle = 0;              // seconds that the device has idled before it, each time
};

class Cadence {
 public:
  Cadence(const Trace& trace, ProcessId process) : traced_(tracedOf(trace, process)) {
    std::size_t stretch = 0;
    for (const auto& row : trace.deviceWorks) {
      if (row.data.process != process || !launched(row.data.kind)) continue;
      while (stretch < traced_.each.size() && traced_.each[stretch].end <= row.at) ++stretch;
      if (stretch == traced_.each.size()) break;
      if (row.at >= traced_.each[stretch].begin)
        kernels_.push_back({row.at, row.end(), row.data.name, stretch});
    }
    for (const auto& row : trace.deviceUses)
      if (row.data.process == process && launched(row.data.kind)) uses_.push_back(&row);
  }

  // The name that steps begin with; null: none.
  [[nodiscard]] const Coming* find() {
    collect();
    const Coming* most = nullptr;
    std::size_t agreed = 0;
    for (const Coming& c : comings_)
      if (const std::size_t count = agreeing(c); count > agreed) most = &c, agreed = count;
    if (agreed < kFewestNames || most->distance < 2) return nullptr;
    const Coming* first = most;
    for (const Coming& c : comings_)
      if (agree(c, *most) && c.idle > first->idle) first = &c;
    return isEven(*first) ? first : nullptr;
  }

  [[nodiscard]] std::vector<Lap> laps(const Coming& of) const {
    std::vector<Nanos> begins;
    for (const std::size_t at : of.at) begins.push_back(kernels_[at].begin);
    for (const auto* use : uses_)
      if (use->data.name == of.name) divide(*use, begins);
    std::sort(begins.begin(), begins.end());
    fill(fromSeconds(periodOf(of)), begins);
    std::vector<Lap> laps;
    for (std::size_t i = 1; i < begins.size(); ++i)
      if (begins[i] > begins[i - 1]) laps.push_back({begins[i - 1], begins[i]});
    return laps;
  }

 private:
  void collect() {
    std::map<StringId, Coming> byName;
    Nanos busy = Nanos::min();
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      Coming& c = byName[kernels_[i].name];
      c.name = kernels_[i].name;
      c.at.push_back(i);
      const bool first = i == 0 || kernels_[i - 1].stretch != kernels_[i].stretch;
      if (!first) c.idle += std::max(0.0, seconds(kernels_[i].begin - busy));
      busy = std::max(busy, kernels_[i].end);
    }
    for (auto& [name, c] : byName) {
      c.idle /= static_cast<double>(c.at.size());
      c.distance = distanceOf(c.at);
      if (c.distance > 0) comings_.push_back(std::move(c));
    }
  }

  [[nodiscard]] double distanceOf(const std::vector<std::size_t>& at) const {
    std::vector<double> distances;
    for (std::size_t i = 1; i < at.size(); ++i)
      if (kernels_[at[i]].stretch == kernels_[at[i - 1]].stretch)
        distances.push_back(static_cast<double>(at[i] - at[i - 1]));
    if (distances.size() + 1 < kFewestComings) return 0;
    const double usual = median(distances);
    const auto even = std::count_if(distances.begin(), distances.end(), [&](double d) {
      return std::abs(d - usual) <= kSameDistance * usual;
    });
    return static_cast<double>(even) >= kEvenComings * static_cast<double>(distances.size()) ? usual
                                                                                             : 0;
  }

  static bool agree(const Coming& a, const Coming& b) {
    return std::abs(a.distance - b.distance) <= kSameDistance * b.distance;
  }
  [[nodiscard]] std::size_t agreeing(const Coming& with) const {
    return static_cast<std::size_t>(std::count_if(comings_.begin(), comings_.end(),
                                                  [&](const Coming& c) { return agree(c, with); }));
  }

  [[nodiscard]] std::vector<double> lengthsOf(const Coming& of) const {
    std::vector<double> lengths;
    for (std::size_t i = 1; i < of.at.size(); ++i)
      if (kernels_[of.at[i]].stretch == kernels_[of.at[i - 1]].stretch)
        lengths.push_back(seconds(kernels_[of.at[i]].begin - kernels_[of.at[i - 1]].begin));
    return lengths;
  }
  [[nodiscard]] double periodOf(const Coming& of) const { return median(lengthsOf(of)); }

  [[nodiscard]] bool isEven(const Coming& of) const {
    const std::vector<double> lengths = lengthsOf(of);
    const double usual = median(lengths);
    const auto even = std::count_if(lengths.begin(), lengths.end(), [&](double length) {
      return std::abs(length - usual) <= kEvenWithin * usual;
    });
    return usual > 0 &&
           static_cast<double>(even) >= kEvenEnough * static_cast<double>(lengths.size());
  }

  // A total of kernels that were not told of one by one: as far apart as each other.
  void divide(const Timed<DeviceUse>& use, std::vector<Nanos>& begins) const {
    const std::size_t room = kMostSteps - std::min(kMostSteps, begins.size());
    const std::size_t count = std::min<std::size_t>(use.data.count, room);
    for (std::size_t i = 0; i < count; ++i) {
      const double part = (static_cast<double>(i) + 0.5) / static_cast<double>(count);
      const Nanos at = use.at + fromSeconds(part * seconds(use.data.duration));
      if (lengthIn(traced_.each, at, at + Nanos(1)) == Nanos{}) begins.push_back(at);
    }
  }

  // Where kernels were not traced it went on as before and after.
  void fill(Nanos period, std::vector<Nanos>& begins) const {
    const std::size_t known = begins.size();
    for (std::size_t i = 1; i < known && begins.size() < kMostSteps; ++i) {
      const Nanos from = begins[i - 1], gap = begins[i] - from;
      if (lengthIn(traced_.kernels, from, begins[i]) * 2 > gap) continue;
      const auto parts = std::min<double>(std::round(seconds(gap) / seconds(period)), kMostSteps);
      for (double part = 1; part < parts; ++part)
        begins.push_back(from + fromSeconds(part / parts * seconds(gap)));
    }
    std::sort(begins.begin(), begins.end());
  }

  Traced traced_;
  std::vector<Kernel> kernels_;  // by begin, of stretches in which all are known
  std::vector<const Timed<DeviceUse>*> uses_;
  std::vector<Coming> comings_;  // those that come evenly
};

}  // namespace

InferredSteps launchCadence(const Trace& trace, const Roles& roles) {
  InferredSteps steps;
  steps.who.process = busiestProcess(trace, roles);
  if (steps.who.process.none()) return {};
  steps.who.thread = launchingThread(trace, steps.who.process);
  if (steps.who.thread.none()) return {};
  Cadence cadence(trace, steps.who.process);
  const Coming* first = cadence.find();
  if (first == nullptr) return {};
  steps.laps = cadence.laps(*first);
  if (steps.laps.size() < kFewestInferred) return {};
  steps.why = "inferred from the cadence of launches: one is " +
              std::to_string(std::lround(first->distance)) + " kernels, of which the first is " +
              escapeTerminal(trace.text(first->name), 64);
  return steps;
}

}  // namespace stallprof
