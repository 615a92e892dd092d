// SPDX-License-Identifier: MIT
#include "analysis/device/launch_cadence.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "analysis/device/device_time.h"
#include "base/largest.h"
#include "base/stats.h"
#include "base/text.h"

namespace stallprof {
namespace {

constexpr std::size_t kMinComings = 6;  // of a name, in all intervals: five iterations
constexpr std::size_t kMinNames = 2;    // that agree
constexpr double kEvenComings = 0.65;   // of a name's distances are its usual one:
constexpr double kSameDistance = 0.05;  // a step in three may log, and launch more
constexpr double kAlike = 0.80;         // of a step's kernels are the next one's; and of all
                                        // kernels have a name that steps have
constexpr std::size_t kMaxSteps = 1u << 20;
// A total says in which second a step began. So far to both sides such steps are taken as equal,
// but not across a pause.
constexpr double kLongPeriod = 0.2;  // seconds; of shorter steps there are enough in one
constexpr double kTotalsWithin = 8;  // seconds
constexpr double kLongPause = 1.6;   // steps, and a second

struct Kernel : Interval {
  StringId name;
  std::size_t interval = 0;
};

ProcessId busiestTrainer(const Trace& trace, const Roles& roles) {
  std::map<ProcessId, std::size_t> kernels;
  for (const auto& row : trace.deviceWorks)
    if (isKernel(row.data.kind) && roles.of(row.data.process) != Role::kWorker)
      ++kernels[row.data.process];
  kernels.erase(ProcessId{});
  const auto maximum = largestIn(kernels);
  return maximum == kernels.end() ? ProcessId{} : maximum->first;
}

ThreadId launchingThread(const Trace& trace, ProcessId process) {
  std::map<ThreadId, std::uint64_t> launches;
  for (const auto& row : trace.deviceCallUses)
    if (row.data.kind == DeviceCallKind::kLaunch && !row.data.thread.none() &&
        trace.thread(row.data.thread).process == process)
      launches[row.data.thread] += row.data.count;
  const auto maximum = largestIn(launches);
  return maximum == launches.end() ? ThreadId{} : maximum->first;
}

// When every kernel of a process, and when any total of them, was recorded.
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

// When a step began, and whether that is known to more than its second.
struct Begin {
  Nanos at{};
  bool exact = true;
  friend bool operator<(const Begin& a, const Begin& b) { return a.at < b.at; }
};

// Where only totals show steps: in place of each step the mean of those around it.
std::vector<Nanos> evened(const std::vector<Begin>& begins, double period) {
  const auto widest = static_cast<std::size_t>(period < kLongPeriod ? 0 : kTotalsWithin / period);
  std::vector<Nanos> out;
  for (std::size_t i = 0, first = 0, end = 0; i < begins.size(); ++i) {
    const auto paused = [&](std::size_t at) {
      return at == begins.size() ||
             seconds(begins[at].at - begins[at - 1].at) > kLongPause * period + 1;
    };
    if (i == end)
      for (first = i, end = i + 1; !paused(end);) ++end;
    const std::size_t wide = std::min({widest, i - first, end - 1 - i});
    Nanos more{};  // than at i, of all
    for (std::size_t j = i - wide; j <= i + wide; ++j) more += begins[j].at - begins[i].at;
    const auto count = static_cast<std::int64_t>(2 * wide + 1);
    out.push_back(begins[i].exact ? begins[i].at : begins[i].at + more / count);
  }
  std::sort(out.begin(), out.end());
  return out;
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
    std::size_t interval = 0;
    for (const auto& row : trace.deviceWorks) {
      if (row.data.process != process || !isKernel(row.data.kind)) continue;
      while (interval < traced_.each.size() && traced_.each[interval].end <= row.at) ++interval;
      if (interval == traced_.each.size()) break;
      if (row.at >= traced_.each[interval].begin)
        kernels_.push_back({{row.at, row.end()}, row.data.name, interval});
    }
    for (const auto& row : trace.deviceUses)
      if (row.data.process == process && isKernel(row.data.kind) &&
          trace.text(row.data.name) != "(other)")
        uses_.push_back(&row);
  }

  // The name that steps begin with; null: none.
  [[nodiscard]] const Coming* find() {
    collect();
    std::sort(comings_.begin(), comings_.end(),
              [](const Coming& a, const Coming& b) { return a.distance < b.distance; });
    const auto once = std::find_if(comings_.begin(), comings_.end(), [&](const Coming& c) {
      return c.distance >= 2 && agreeing(c) >= kMinNames && alike(c) >= kAlike &&
             named(c) >= kAlike;
    });
    if (once == comings_.end()) return nullptr;
    const Coming* first = &*once;
    for (const Coming& c : comings_)
      if (agree(c, *once) && c.idle > first->idle) first = &c;
    return isEven(*first) ? first : nullptr;
  }

  [[nodiscard]] std::vector<Interval> iterations(const Coming& of) const {
    std::vector<Begin> known;
    for (const std::size_t at : of.at) known.push_back({kernels_[at].begin, true});
    for (const auto* use : uses_)
      if (use->data.name == of.name) divide(*use, of, known);
    std::sort(known.begin(), known.end());
    const double period = periodOf(of);
    std::vector<Nanos> begins = evened(known, period);
    fill(fromSeconds(period), begins);
    std::vector<Interval> iterations;
    for (std::size_t i = 1; i < begins.size(); ++i)
      if (begins[i] > begins[i - 1]) iterations.push_back({begins[i - 1], begins[i]});
    return iterations;
  }

 private:
  void collect() {
    std::map<StringId, Coming> byName;
    Nanos busy = Nanos::min();
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      Coming& c = byName[kernels_[i].name];
      c.name = kernels_[i].name;
      c.at.push_back(i);
      const bool first = i == 0 || kernels_[i - 1].interval != kernels_[i].interval;
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
      if (kernels_[at[i]].interval == kernels_[at[i - 1]].interval)
        distances.push_back(static_cast<double>(at[i] - at[i - 1]));
    if (distances.size() + 1 < kMinComings) return 0;
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

  // The share of kernels, iteration by iteration, that are those of the iteration before. What an
  // interval has before its first and after its last is part of an iteration, too: what is more
  // than one has nothing to compare with.
  [[nodiscard]] double alike(const Coming& of) const {
    const auto iteration = static_cast<std::size_t>(of.distance * (1 + kSameDistance)) + 1;
    const auto beyond = [&](std::size_t count) { return count - std::min(count, iteration); };
    std::size_t same = 0, all = 0, before = 0, length = 0;
    auto at = of.at.begin();
    for (std::size_t from = 0, end = 0; from < kernels_.size(); from = end) {
      while (end < kernels_.size() && kernels_[end].interval == kernels_[from].interval) ++end;
      for (; at != of.at.end() && *at < end; from = *at++) {
        const std::size_t count = *at - from;
        if (at == of.at.begin() || *std::prev(at) != from) {
          all += beyond(count);
          continue;
        }
        for (std::size_t k = 0; k < std::min(count, length); ++k)
          same += kernels_[from + k].name == kernels_[before + k].name;
        if (length != 0) all += std::max(count, length);
        before = from;
        length = count;
      }
      all += beyond(end - from);
    }
    return all == 0 ? 0 : static_cast<double>(same) / static_cast<double>(all);
  }

  // The share of all kernels, whenever they ran, that have a name which its iterations have: an
  // interval may hold the forward pass alone, and layers in it.
  [[nodiscard]] double named(const Coming& of) const {
    std::set<StringId> names;
    for (std::size_t i = 1; i < of.at.size(); ++i)
      if (std::abs(static_cast<double>(of.at[i] - of.at[i - 1]) - of.distance) <=
          kSameDistance * of.distance)
        for (std::size_t k = of.at[i - 1]; k < of.at[i]; ++k) names.insert(kernels_[k].name);
    double those = 0, all = 0;
    for (const auto* use : uses_) {
      const auto count = static_cast<double>(use->data.count);
      all += count;
      if (names.count(use->data.name) != 0) those += count;
    }
    return all == 0 ? 1 : those / all;
  }

  [[nodiscard]] std::vector<double> lengthsOf(const Coming& of) const {
    std::vector<double> lengths;
    for (std::size_t i = 1; i < of.at.size(); ++i)
      if (kernels_[of.at[i]].interval == kernels_[of.at[i - 1]].interval)
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

  // A total of kernels that were not recorded one by one: evenly spaced.
  void divide(const Timed<DeviceUse>& use, const Coming& of, std::vector<Begin>& begins) const {
    const auto covered =
        static_cast<std::size_t>(std::count_if(of.at.begin(), of.at.end(), [&](std::size_t at) {
          return kernels_[at].end >= use.at && kernels_[at].end < use.end();
        }));
    const std::size_t room = kMaxSteps - std::min(kMaxSteps, begins.size());
    const std::size_t count = std::min<std::size_t>(
        use.data.count - std::min<std::size_t>(use.data.count, covered), room);
    // In what is left of it, in as many parts.
    const Nanos left = use.data.duration - lengthIn(traced_.each, intervalOf(use));
    if (left <= Nanos{}) return;
    for (std::size_t i = 0; i < count; ++i)
      begins.push_back({use.at + outside(use, (static_cast<double>(i) + 0.5) /
                                                  static_cast<double>(count) * seconds(left)),
                        false});
  }

  // How far into it that many seconds lie outside of the intervals with every kernel.
  [[nodiscard]] Nanos outside(const Timed<DeviceUse>& use, double wanted) const {
    Nanos at = use.at, left = fromSeconds(wanted);
    for (const Interval& each : traced_.each) {
      if (each.end <= at) continue;
      if (each.begin > at && each.begin - at > left) break;
      left -= std::max(each.begin - at, Nanos{});
      at = each.end;
    }
    return at + left - use.at;
  }

  // Where kernels were not traced it went on as before and after.
  void fill(Nanos period, std::vector<Nanos>& begins) const {
    const std::size_t known = begins.size();
    for (std::size_t i = 1; i < known && begins.size() < kMaxSteps; ++i) {
      const Nanos from = begins[i - 1], gap = begins[i] - from;
      if (lengthIn(traced_.kernels, {from, begins[i]}) * 2 > gap) continue;
      const auto parts = std::min<double>(std::round(seconds(gap) / seconds(period)), kMaxSteps);
      for (double part = 1; part < parts; ++part)
        begins.push_back(from + fromSeconds(part / parts * seconds(gap)));
    }
    std::sort(begins.begin(), begins.end());
  }

  Traced traced_;
  std::vector<Kernel> kernels_;  // by begin, of intervals in which all are known
  std::vector<const Timed<DeviceUse>*> uses_;
  std::vector<Coming> comings_;  // those that come evenly
};

}  // namespace

InferredSteps launchCadence(const Trace& trace, const Roles& roles) {
  InferredSteps steps;
  steps.who.process = busiestTrainer(trace, roles);
  if (steps.who.process.none()) return {};
  steps.who.thread = launchingThread(trace, steps.who.process);
  if (steps.who.thread.none()) return {};
  Cadence cadence(trace, steps.who.process);
  const Coming* first = cadence.find();
  if (first == nullptr) return {};
  steps.iterations = cadence.iterations(*first);
  if (steps.iterations.size() < kMinInferred) return {};
  steps.why = "inferred from the cadence of launches: one is " +
              std::to_string(std::lround(first->distance)) + " kernels, of which the first is " +
              escapeTerminal(trace.text(first->name), 64);
  return steps;
}

}  // namespace stallprof
