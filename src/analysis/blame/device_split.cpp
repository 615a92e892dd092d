// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>

#include "analysis/blame/device_blame.h"

namespace stallprof {
namespace {

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
    const Nanos mine = proportion(part, less, whole);
    *to -= mine;
    left -= mine;
  }
  const auto largest = std::max_element(parts.begin(), parts.end(),
                                        [](auto& a, auto& b) { return *a.first < *b.first; });
  *largest->first -= left;
  blame.extractCpu -= proportion(of.extractCpu, less, whole);
}

}  // namespace

void DeviceSplit::wait(const Producers& producers, const EpochSpan& epoch,
                       const Timed<Fetch>& fetch, const Interval& wait, Split& split, Blame& blame,
                       DeviceTally& tally) const {
  const auto exposed = [&](const Interval& piece) {
    split.wait += piece.length();
    const Blame one = producers.blame(epoch, fetch, piece);
    blame += one;
    return one;
  };
  if (!known_) {
    exposed(wait);
    return;
  }
  divide(devices_.traced, wait, [&](const Interval& piece, bool traced) {
    if (!traced) {
      tally.untraced.blame += exposed(piece);
      tally.untraced.wait += piece.length();
      return;
    }
    tally.seen.wait += piece.length();
    divide(devices_.busy, piece, [&](const Interval& part, bool busy) {
      if (!busy) return void(exposed(part));
      split.compute += part.length();
      split.hidden += part.length();
      tally.seen.hidden += part.length();
    });
  });
}

void DeviceSplit::step(const Interval& interval, Split& split, DeviceTally& tally) const {
  if (!known_) {
    split.compute += interval.length();
    return;
  }
  divide(devices_.traced, interval, [&](const Interval& piece, bool traced) {
    if (!traced) {
      split.compute += piece.length();
      tally.untraced.step += piece.length();
      return;
    }
    tally.seen.step += piece.length();
    divide(devices_.calls, piece, [&](const Interval& part, const BlockingCall* blocking) {
      if (blocking)
        call(blocking->copy, part, split, tally);
      else
        split.compute += part.length();
    });
  });
}

// In a call that copies, time with a copy under way is load; otherwise, while the device is busy,
// the call waits for it, which is compute, or comm where the device runs a collective. What is left
// is blocking on an idle device: load in a copy, sync in others.
void DeviceSplit::call(bool copy, const Interval& interval, Split& split,
                       DeviceTally& tally) const {
  const auto block = [&](Nanos time) {
    (copy ? split.load : split.sync) += time;
    if (copy) split.copy += time;
    (copy ? tally.seen.copy : tally.seen.sync) += time;
  };
  const auto other = [&](const Interval& piece) {
    divide(devices_.busy, piece, [&](const Interval& part, bool busy) {
      if (!busy) return block(part.length());
      const Nanos comm = copy ? Nanos{} : collective(part);
      split.compute += part.length() - comm;
      split.comm += comm;
      tally.seen.comm += comm;
    });
  };
  if (!copy) return other(interval);
  divide(devices_.copies, interval, [&](const Interval& piece, bool copies) {
    copies ? block(piece.length()) : other(piece);
  });
}

// Where in a span its collectives were is not known: they are taken as even over it.
Nanos DeviceSplit::collective(const Interval& interval) const {
  Nanos longest{};
  for (const DeviceTimeline::Device& device : devices_.devices) {
    Nanos sum{};
    divide(device.spans, interval,
           [&](const Interval& piece, const Timed<DeviceSpan>* const* span) {
             if (!span) return;
             const DeviceSpan& s = (*span)->data;
             sum += proportion(std::clamp(s.collectiveOnly, Nanos{}, s.duration), piece.length(),
                               s.duration);
           });
    longest = std::max(longest, sum);
  }
  return longest;
}

void estimateUntraced(const DeviceTally::Seen& seen, const DeviceTally::Untraced& untraced,
                      Split& split, Blame& blame) {
  const Nanos hidden = proportion(untraced.wait, seen.hidden, seen.wait);
  split.wait -= hidden;
  split.compute += hidden;
  split.hidden += hidden;
  if (hidden > Nanos{}) shrink(blame, untraced.blame, hidden);
  const Nanos sync = proportion(untraced.step, seen.sync, seen.step);
  const Nanos copy = proportion(untraced.step, seen.copy, seen.step);
  const Nanos comm = proportion(untraced.step, seen.comm, seen.step);
  split.compute -= sync + copy + comm;
  split.sync += sync;
  split.comm += comm;
  split.load += copy;
  split.copy += copy;
}

}  // namespace stallprof
