// SPDX-License-Identifier: MIT
#include "trace/coarsener.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/splitmix64.h"

namespace stallprof {
namespace {

// Ten samples a second are as many as a slice that is not merged has; one in 13 s still gives a
// thread of ten hours 2,800 samples.
constexpr Nanos kFinest = std::chrono::milliseconds(100), kCoarsest = 128 * kFinest;
constexpr std::int64_t kMinCounters = 64;  // one second in so many
constexpr std::uint64_t kMinWindows = 1u << 12;
// Of a thread that stays asleep slices are merged up to this.
constexpr Nanos kLongestSleep = std::chrono::seconds(10);
constexpr int kAwake = 10;  // one part in so many
// Without a sample for so long the thread was not seen meanwhile.
constexpr Nanos kBreak = std::chrono::seconds(1);

std::uint64_t mixed(Nanos t) { return splitmix64(static_cast<std::uint64_t>(t.count())); }

// Instants, one in `period` on average: one anywhere in each kFinest, of which so many as are due
// are left out by hash. A loop is not met at the same point each time, and the instants of a longer
// period are among those of a shorter: a run made coarse twice is as if it had been so at once.
// Those of the run are tabled: every slice of every thread asks for them.
class Ticks {
 public:
  Ticks(Nanos period, Interval run)
      : among_(static_cast<std::uint64_t>(period / kFinest)), first_(run.begin / kFinest) {
    const Nanos::rep last = run.end / kFinest;
    if (last < first_ || last - first_ >= kMaxTabled) return;
    const auto count = static_cast<std::size_t>(last - first_ + 1);
    before_.reserve(count + 1);
    at_.reserve(count / among_);
    for (Nanos::rep i = first_; i <= last; ++i) {
      before_.push_back(static_cast<std::uint32_t>(at_.size()));
      if (drawn(i)) at_.push_back(of(i));
    }
    before_.push_back(static_cast<std::uint32_t>(at_.size()));
  }
  // The first at or after `t`.
  [[nodiscard]] Nanos from(Nanos t) const {
    if (tabled(t))
      if (const std::size_t place = upTo(t - Nanos(1), t / kFinest); place < at_.size())
        return at_[place];
    Nanos::rep i = t / kFinest;
    while (!drawn(i) || of(i) < t) ++i;
    return of(i);
  }
  // The last up to `t`; 0 where there is none.
  [[nodiscard]] Nanos last(Nanos t) const {
    if (tabled(t))
      if (const std::size_t place = upTo(t, t / kFinest); place > 0) return at_[place - 1];
    Nanos::rep i = t / kFinest;
    while (i >= 0 && (!drawn(i) || of(i) > t)) --i;
    return i >= 0 ? of(i) : Nanos(0);
  }
  // How many lie in (begin, end]; about, where that is longer than anything recorded.
  [[nodiscard]] std::uint32_t in(Nanos begin, Nanos end) const {
    constexpr Nanos::rep kMany = 1 << 16;
    const Nanos::rep first = begin / kFinest, last = end / kFinest;
    if (last - first > kMany)
      return static_cast<std::uint32_t>(
          std::min<std::uint64_t>(static_cast<std::uint64_t>(last - first) / among_, UINT32_MAX));
    if (begin > end) return 0;
    if (tabled(begin) && tabled(end)) return upTo(end, last) - upTo(begin, first);
    std::uint32_t count = 0;
    for (Nanos::rep i = first; i <= last; ++i) count += drawn(i) && of(i) > begin && of(i) <= end;
    return count;
  }

 private:
  static constexpr Nanos::rep kMaxTabled = 1 << 22;  // 4.8 days, 17 MB; a forged time is years off

  [[nodiscard]] bool drawn(Nanos::rep i) const {
    return (splitmix64(~static_cast<std::uint64_t>(i)) & (among_ - 1)) == 0;
  }
  [[nodiscard]] static Nanos of(Nanos::rep i) {
    constexpr auto kLength = static_cast<std::uint64_t>(kFinest.count());
    const auto within = splitmix64(static_cast<std::uint64_t>(i)) % kLength;
    return i * kFinest + Nanos(static_cast<Nanos::rep>(within));
  }
  [[nodiscard]] bool tabled(Nanos t) const {
    const Nanos::rep i = t / kFinest - first_;
    return i >= 0 && i + 1 < static_cast<Nanos::rep>(before_.size());
  }
  // How many tabled ones there are up to `t`, which lies in the kFinest numbered `i` or 1 ns
  // before.
  [[nodiscard]] std::uint32_t upTo(Nanos t, Nanos::rep i) const {
    const auto row = static_cast<std::size_t>(i - first_);
    const std::uint32_t place = before_[row];
    return place + (place < before_[row + 1] && at_[place] <= t);
  }

  std::uint64_t among_;                // a power of two
  Nanos::rep first_;                   // the number of the first tabled kFinest
  std::vector<std::uint32_t> before_;  // of each: how many of at_ are in those before it
  std::vector<Nanos> at_;
};

bool asleep(const ThreadSlice& s) { return (s.run + s.queued) * kAwake < s.duration; }

bool sameSleep(const Timed<ThreadSlice>& a, const Timed<ThreadSlice>& b) {
  return a.end() == b.at && a.data.wait == b.data.wait && a.data.what == b.data.what &&
         asleep(a.data) && asleep(b.data) && b.end() - a.at <= kLongestSleep;
}

// What ends at `t` of a slice that holds it, and what is left; together they are the slice.
std::pair<Timed<ThreadSlice>, Timed<ThreadSlice>> cutAt(const Timed<ThreadSlice>& slice, Nanos t) {
  auto head = slice, tail = slice;
  head.data.duration = t - slice.at;
  tail.at = t;
  tail.data.duration = slice.end() - t;
  head.data.run = proportion(slice.data.run, head.data.duration, slice.data.duration);
  head.data.queued = proportion(slice.data.queued, head.data.duration, slice.data.duration);
  tail.data.run -= head.data.run;
  tail.data.queued -= head.data.queued;
  tail.data.samples = 0;
  return {head, tail};
}

// The slices of samples at the ticks: each from the tick before to its own, with what that sample
// saw.
class SlicesAtTicks {
 public:
  explicit SlicesAtTicks(const Ticks& ticks) : ticks_(ticks) {}

  void take(const Timed<ThreadSlice>& slice) {
    if (any_ && slice.at - unseen_.end() > kBreak) leave();
    const std::uint32_t met = std::min(slice.data.samples, ticks_.in(slice.at, slice.end()));
    if (met == 0) return wait(slice);
    auto [head, tail] = cutAt(slice, ticks_.last(slice.end()));
    head.data.samples = met;
    if (any_) {
      takeIn(head, unseen_);
      any_ = false;
    }
    keep(head);
    if (tail.data.duration > Nanos(0)) wait(tail);
  }
  Table<ThreadSlice> finish() {
    if (any_) leave();
    return std::move(kept_);
  }

 private:
  static void takeIn(Timed<ThreadSlice>& slice, const Timed<ThreadSlice>& before) {
    slice.data.run += before.data.run;
    slice.data.queued += before.data.queued;
    slice.data.duration = slice.end() - before.at;
    slice.at = before.at;
  }
  void wait(Timed<ThreadSlice> slice) {
    slice.data.samples = 0;
    if (any_) takeIn(slice, unseen_);
    unseen_ = slice;
    any_ = true;
  }
  void leave() {
    keep(unseen_);
    any_ = false;
  }
  void keep(Timed<ThreadSlice> slice) {
    if (!kept_.empty() && sameSleep(kept_.back(), slice)) {
      slice.data.samples += kept_.back().data.samples;
      takeIn(slice, kept_.back());
      kept_.pop_back();
    }
    kept_.push_back(slice);
  }

  const Ticks& ticks_;
  Table<ThreadSlice> kept_;
  Timed<ThreadSlice> unseen_;  // since the last tick
  bool any_ = false;
};

void coarsen(Table<ThreadSlice>& slices, const Ticks& ticks) {
  removeOverlap(slices);
  SlicesAtTicks coarse(ticks);
  for (const Timed<ThreadSlice>& slice : slices) coarse.take(slice);
  slices = coarse.finish();
}

// A sample is kept where a tick lies between the one before it and it.
void coarsen(Table<StackSlice>& stacks, const Ticks& ticks) {
  sortByTime(stacks);
  std::size_t kept = 0;
  Nanos before = stacks.empty() ? Nanos(0) : stacks.front().at;
  for (Timed<StackSlice> row : stacks) {
    const std::uint32_t samples = std::max(1u, row.data.samples);
    const Nanos begin = row.at, end = row.end();
    const Nanos apart = samples > 1 ? row.data.duration / (samples - 1) : Nanos(0);
    const auto inspect = [&](Nanos tick) {  // the first from then on
      if (tick <= begin || apart <= Nanos(0)) return begin;
      return std::min(begin + (tick - begin + apart - Nanos(1)) / apart * apart, end);
    };
    const std::uint32_t met = ticks.in(before, end);
    const Nanos after = std::exchange(before, std::max(before, end));
    if (met == 0) continue;
    const Nanos first = ticks.from(after + Nanos(1));
    row.at = inspect(first);
    row.data.duration = inspect(ticks.last(end)) - row.at;
    // Between two ticks there may be no sample: then the next counts for both.
    row.data.samples = std::min(std::max(samples, 2u), met);
    stacks[kept++] = row;
  }
  stacks.resize(kept);
}

// Of rows that count samples one in `period / kFinest`, and the same ones whenever asked.
void thin(Table<NativeSlice>& natives, Nanos period) {
  const auto maximum = static_cast<std::uint64_t>(period / kFinest) * 2;
  std::erase_if(natives, [&](const auto& row) { return mixed(row.at) % maximum != 0; });
}

// Counters of the first and the last second stay: the rest is what they grew between.
template <class P>
std::size_t thin(Table<P>& table, std::int64_t seconds) {
  sortByTime(table);
  if (table.empty()) return 0;
  const Nanos first = table.front().at + kOneSecond, last = table.back().at - kOneSecond;
  std::erase_if(table, [&](const Timed<P>& row) {
    return row.at > first && row.at < last && row.at / kOneSecond % seconds != 0;
  });
  return table.size();
}

// The steps are recorded; else they are inferred from how the main thread's stacks recur.
bool annotatesSteps(const Trace& trace) {
  return !trace.fetches.empty() || !trace.optimizerSteps.empty() || !trace.spans.empty() ||
         !trace.ranges.empty();
}

// The analysis asks which way a call copied; kernels, and the calls for them, are only drawn.
bool drawnOnly(const DeviceWork& work) {
  return work.kind != DeviceWorkKind::kToDevice && work.kind != DeviceWorkKind::kToHost;
}
bool drawnOnly(const DeviceCall& call) {
  return call.kind != DeviceCallKind::kCopy && call.kind != DeviceCallKind::kSync;
}

// Rows of one kind held to a bound: `again` keeps them as coarsely as has been settled and says how
// many are left, `coarser` settles on the next degree, while there is one.
struct Bound {
  std::size_t maximum;
  std::size_t &rows, &next;
};

template <class Degree>
bool doubled(Degree& degree, Degree maximum) {
  if (degree >= maximum) return false;
  degree *= 2;
  return true;
}

template <class Coarser, class Again>
void hold(Bound bound, bool begun, Coarser&& coarser, Again&& again) {
  if (begun) bound.rows = again();  // what came since
  while (bound.rows > bound.maximum / 2 && coarser()) bound.rows = again();
  bound.next = std::max(bound.maximum, 2 * bound.rows);
}

}  // namespace

std::size_t Coarsener::coarsenSamples(Trace& trace) const {
  const Ticks ticks(period_, {trace.begin, trace.end});
  const bool annotated = annotatesSteps(trace);
  trace.sampledEvery = period_;
  std::size_t rows = 0;
  for (ThreadLife& thread : trace.threads) {
    const bool main = thread.tid != 0 && thread.tid == trace.process(thread.process).pid;
    coarsen(thread.slices, ticks);
    thin(thread.natives, period_);
    rows += thread.slices.size() + thread.natives.size();
    if (main && !annotated) continue;
    coarsen(thread.stacks, ticks);
    rows += thread.stacks.size();
  }
  return rows;
}

void Coarsener::boundSamples(Trace& trace) {
  const auto coarser = [&] {
    if (period_ >= kCoarsest) return false;
    period_ = period_ > Nanos(0) ? 2 * period_ : kFinest;
    return true;
  };
  hold({bounds_.samples, rows_.samples, next_.samples}, period_ > Nanos(0), coarser,
       [&] { return coarsenSamples(trace); });
}

std::size_t Coarsener::thinCounters(Trace& trace) const {
  std::size_t rows = thin(trace.deviceUsages, seconds_) + thin(trace.deviceProcesses, seconds_);
  rows += thin(trace.host, seconds_) + thin(trace.disks, seconds_) + thin(trace.networks, seconds_);
  rows += thin(trace.cgroups, seconds_) + thin(trace.syscalls, seconds_);
  rows += thin(trace.recorder, seconds_) + thin(trace.counters, seconds_);
  for (ProcessLife& process : trace.processes) rows += thin(process.usage, seconds_);
  return rows;
}

void Coarsener::boundCounters(Trace& trace) {
  hold(
      {bounds_.counters, rows_.counters, next_.counters}, seconds_ > 1,
      [&] { return doubled(seconds_, kMinCounters); }, [&] { return thinCounters(trace); });
}

// Whole intervals are dropped, so that those left still have every piece; the longest always stays.
std::size_t Coarsener::dropWorks(Trace& trace) {
  auto& all = trace.deviceTraces;
  const auto length = [](const auto& row) { return row.data.each ? row.data.duration : Nanos(0); };
  const auto longest = std::max_element(
      all.begin(), all.end(), [&](const auto& a, const auto& b) { return length(a) < length(b); });
  for (auto row = all.begin(); row != all.end(); ++row)
    if (row->data.each && row != longest && mixed(row->at) % windows_ != 0) {
      row->data.each = false;
      dropped_[row->data.process][row->at] = row->end();
    }
  const auto gone = [&](const auto& row) {
    const auto of = dropped_.find(row.data.process);
    if (of == dropped_.end() || !drawnOnly(row.data)) return false;
    const auto after = of->second.upper_bound(row.at);
    return after != of->second.begin() && row.at < std::prev(after)->second;
  };
  std::size_t rows = 0;
  const auto drop = [&](auto& table) {
    std::erase_if(table, gone);
    for (const auto& row : table) rows += drawnOnly(row.data);
  };
  drop(trace.deviceWorks);
  drop(trace.deviceCalls);
  return rows;
}

void Coarsener::boundWorks(Trace& trace) {
  hold(
      {bounds_.works, rows_.works, next_.works}, windows_ > 1,
      [&] { return doubled(windows_, kMinWindows); }, [&] { return dropWorks(trace); });
}

void Coarsener::finish(Trace& trace) {
  if (seconds_ > 1) (void)thinCounters(trace);
  if (windows_ > 1) (void)dropWorks(trace);
  if (period_ == Nanos(0)) return;
  (void)coarsenSamples(trace);
  const std::string why = "a long run: one sample of each thread in " +
                          std::to_string(period_ / std::chrono::milliseconds(1)) + " ms is kept";
  trace.sources.push_back(
      {trace.end,
       {trace.strings.intern("samples"), Coverage::kPartial, trace.strings.intern(why)}});
}

}  // namespace stallprof
