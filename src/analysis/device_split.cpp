// SPDX-License-Identifier: MIT
#include "analysis/device_split.h"

#include <algorithm>
#include <array>

namespace stallprof {
namespace {

// part * of / whole in whole nanoseconds, rounded down.
Nanos portion(Nanos part, Nanos of, Nanos whole) {
  if (whole <= Nanos{}) return {};
  return Nanos(
      static_cast<Nanos::rep>(static_cast<__int128>(part.count()) * of.count() / whole.count()));
}

// Takes `less` out of a blame in its own proportions; what rounding leaves goes to the largest.
void shrink(Blame& blame, const Blame& of, Nanos less) {
  const Nanos whole = of.total();
  std::array<std::pair<Nanos*, Nanos>, 5> parts = {{{&blame.extract, of.extract},
                                                    {&blame.transform, of.transform},
                                                    {&blame.load, of.load},
                                                    {&blame.startup, of.startup},
                                                    {&blame.unknown, of.unknown}}};
  Nanos left = less;
  for (auto& [to, part] : parts) {
    const Nanos mine = portion(part, less, whole);
    *to -= mine, left -= mine;
  }
  const auto largest = std::max_element(parts.begin(), parts.end(),
                                        [](auto& a, auto& b) { return *a.first < *b.first; });
  *largest->first -= left;
  blame.extractCpu -= portion(of.extractCpu, less, whole);
}

}  // namespace

void DeviceSplit::wait(const Producers& producers, const PassSpan& pass, const Timed<Fetch>& fetch,
                       Nanos from, Nanos to, Split& split, Blame& blame, DeviceTally& tally) const {
  const auto exposed = [&](Nanos a, Nanos b) {
    split.wait += b - a;
    const Blame one = producers.blame(pass, fetch, a, b);
    blame += one;
    return one;
  };
  if (!known_) {
    exposed(from, to);
    return;
  }
  divide(devices_.traced, from, to, [&](Nanos a, Nanos b, bool traced) {
    if (!traced) {
      tally.dark.blame += exposed(a, b), tally.dark.wait += b - a;
      return;
    }
    tally.seen.wait += b - a;
    divide(devices_.busy, a, b, [&](Nanos x, Nanos y, bool busy) {
      if (!busy) return void(exposed(x, y));
      split.compute += y - x, split.hidden += y - x;
      tally.seen.hidden += y - x;
    });
  });
}

void DeviceSplit::step(Nanos from, Nanos to, Split& split, DeviceTally& tally) const {
  if (!known_) {
    split.compute += to - from;
    return;
  }
  divide(devices_.traced, from, to, [&](Nanos a, Nanos b, bool traced) {
    if (!traced) {
      split.compute += b - a, tally.dark.step += b - a;
      return;
    }
    tally.seen.step += b - a;
    auto next = std::partition_point(devices_.calls.begin(), devices_.calls.end(),
                                     [&](const StandingCall& c) { return c.end <= a; });
    for (; next != devices_.calls.end() && next->begin < b; ++next) {
      const Nanos begin = std::max(a, next->begin), end = std::min(b, next->end);
      split.compute += begin - a;
      call(*next, begin, end, split, tally);
      a = end;
    }
    split.compute += b - a;
  });
}

void DeviceSplit::call(const StandingCall& call, Nanos from, Nanos to, Split& split,
                       DeviceTally& tally) const {
  const auto stand = [&](Nanos a, Nanos b) {
    if (call.copy) {
      split.load += b - a, split.copy += b - a, tally.seen.copy += b - a;
    } else {
      split.sync += b - a, tally.seen.sync += b - a;
    }
  };
  const auto other = [&](Nanos a, Nanos b) {
    divide(devices_.busy, a, b, [&](Nanos x, Nanos y, bool busy) {
      if (!busy) return stand(x, y);
      const Nanos comm = call.copy ? Nanos{} : collective(x, y);
      split.compute += y - x - comm;
      split.comm += comm, tally.seen.comm += comm;
    });
  };
  if (!call.copy) return other(from, to);
  divide(devices_.copies, from, to,
         [&](Nanos a, Nanos b, bool copies) { copies ? stand(a, b) : other(a, b); });
}

// Where in a span its collectives were is not told: they are taken as even over it.
Nanos DeviceSplit::collective(Nanos from, Nanos to) const {
  Nanos most{};
  for (const DeviceTimeline::Device& device : devices_.devices) {
    auto span = std::partition_point(device.spans.begin(), device.spans.end(),
                                     [&](const Timed<DeviceSpan>* s) { return s->end() <= from; });
    Nanos sum{};
    for (; span != device.spans.end() && (*span)->at < to; ++span) {
      const Nanos inside = std::min(to, (*span)->end()) - std::max(from, (*span)->at);
      const DeviceSpan& s = (*span)->data;
      sum += portion(std::clamp(s.collectiveOnly, Nanos{}, s.duration), inside, s.duration);
    }
    most = std::max(most, sum);
  }
  return most;
}

void estimateDark(const DeviceTally::Seen& seen, const DeviceTally::Dark& dark, Split& split,
                  Blame& blame) {
  const Nanos hidden = portion(dark.wait, seen.hidden, seen.wait);
  split.wait -= hidden, split.compute += hidden, split.hidden += hidden;
  if (hidden > Nanos{}) shrink(blame, dark.blame, hidden);
  const Nanos sync = portion(dark.step, seen.sync, seen.step);
  const Nanos copy = portion(dark.step, seen.copy, seen.step);
  const Nanos comm = portion(dark.step, seen.comm, seen.step);
  split.compute -= sync + copy + comm;
  split.sync += sync, split.comm += comm;
  split.load += copy, split.copy += copy;
}

}  // namespace stallprof
