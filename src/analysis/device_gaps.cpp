// SPDX-License-Identifier: MIT
#include "analysis/device_gaps.h"

#include <algorithm>

namespace stallprof {
namespace {

// A call that waits returns some microseconds after the device's last work has ended, and the two
// clocks agree to about as much (research 03 section 3.3).
constexpr Nanos kReturns{20'000};

Nanos portion(Nanos part, Nanos of, Nanos whole) {
  return Nanos(
      static_cast<Nanos::rep>(static_cast<__int128>(part.count()) * of.count() / whole.count()));
}

class Gaps {
 public:
  Gaps(const TrainerTime& trainer, const DeviceTimeline& devices, DeviceBusy& out)
      : trainer_(trainer), devices_(devices), out_(out) {}

  // What of a span lies in [from, to): its parts are taken as even over it.
  void span(const Timed<DeviceSpan>& span, Nanos from, Nanos to) {
    const DeviceSpan& s = span.data;
    const Nanos inside = to - from;
    const Nanos busy = portion(std::clamp(s.busy, Nanos{}, s.duration), inside, s.duration);
    const Nanos copies =
        std::min(busy, portion(std::clamp(s.copyOnly, Nanos{}, s.duration), inside, s.duration));
    const Nanos collectives =
        std::min(busy - copies,
                 portion(std::clamp(s.collectiveOnly, Nanos{}, s.duration), inside, s.duration));
    out_.copies += copies, out_.collectives += collectives;
    out_.kernels += busy - copies - collectives;
    out_.idle.launch += inside - busy;  // gaps under kDeviceGap
    if (span.at >= from) out_.works += s.works;
  }

  // A gap of which [from, to) is asked for; it began at `since`.
  void gap(Nanos since, Nanos from, Nanos to) {
    gapLength_ = to - since, drained_ = drainedAt(since);
    auto piece = std::upper_bound(trainer_.pieces.begin(), trainer_.pieces.end(), from,
                                  [](Nanos t, const Piece& p) { return t < p.end; });
    for (; piece != trainer_.pieces.end() && piece->begin < to; ++piece) {
      const Nanos begin = std::max(from, piece->begin), end = std::min(to, piece->end);
      out_.idle.other += begin - from;
      name(*piece, begin, end);
      from = end;
    }
    out_.idle.other += to - from;
  }

 private:
  [[nodiscard]] bool drainedAt(Nanos at) const {
    const auto call =
        std::partition_point(devices_.calls.begin(), devices_.calls.end(),
                             [&](const StandingCall& c) { return c.end < at - kReturns; });
    return call != devices_.calls.end() && !call->copy && call->begin <= at + kReturns;
  }

  void name(const Piece& piece, Nanos from, Nanos to) {
    DeviceIdle& idle = out_.idle;
    if (piece.kind == Piece::Kind::kStep) return step(from, to);
    // What lasts longer than the launching is why the device has nothing to do from then on.
    if (to - from > kLaunchGap) drained_ = false;
    if (piece.kind == Piece::Kind::kFetch) return fetch(piece.index, from, to);
    if (piece.kind == Piece::Kind::kIterator) return void(idle.load += to - from);
    switch (piece.phase) {
      case Phase::kCompute:
        return step(from, to);
      case Phase::kSync:
        return void(idle.sync += to - from);
      case Phase::kComm:
        return void(idle.comm += to - from);
      case Phase::kPeriodic:
        return void((evaluating(from) ? idle.evaluation : idle.checkpoint) += to - from);
      case Phase::kLoad:
        return void(idle.load += to - from);
      case Phase::kExtract:
        return void(idle.extract += to - from);
      case Phase::kTransform:
        return void(idle.transform += to - from);
      case Phase::kUnknown:
      case Phase::kOther:
        return void(idle.other += to - from);
    }
  }

  [[nodiscard]] bool evaluating(Nanos at) const {
    return std::any_of(
        trainer_.line.passes.begin(), trainer_.line.passes.end(),
        [&](const PassSpan& p) { return p.evaluation && p.iterator <= at && at < p.end; });
  }

  void fetch(std::uint32_t index, Nanos from, Nanos to) {
    const Timed<Fetch>& fetch = *trainer_.line.fetches[index];
    const Nanos turn = std::clamp(trainer_.line.waitEnd(index), from, to);
    const Blame blame = trainer_.producers.blame(trainer_.line.passes[trainer_.line.passOf[index]],
                                                 fetch, from, turn);
    DeviceIdle& idle = out_.idle;
    idle.extract += blame.extract, idle.transform += blame.transform;
    idle.load += blame.load + blame.startup + (to - turn);
    idle.unknown += blame.unknown;
  }

  void step(Nanos from, Nanos to) {
    auto call = std::partition_point(devices_.calls.begin(), devices_.calls.end(),
                                     [&](const StandingCall& c) { return c.end <= from; });
    for (; call != devices_.calls.end() && call->begin < to; ++call) {
      const Nanos begin = std::max(from, call->begin), end = std::min(to, call->end);
      work(from, begin);
      (call->copy ? out_.idle.copy : out_.idle.sync) += end - begin;
      drained_ = drained_ || !call->copy;
      from = end;
    }
    work(from, to);
  }

  void work(Nanos from, Nanos to) {
    DeviceIdle& idle = out_.idle;
    (drained_ ? idle.sync : gapLength_ < kLaunchGap ? idle.launch : idle.host) += to - from;
  }

  const TrainerTime& trainer_;
  const DeviceTimeline& devices_;
  DeviceBusy& out_;
  Nanos gapLength_{};
  bool drained_ = false;
};

DeviceBusy blameDevice(const TrainerTime& trainer, const DeviceTimeline& devices,
                       const DeviceTimeline::Device& device, Nanos begin, Nanos end) {
  DeviceBusy out;
  out.device = device.id;
  Gaps gaps(trainer, devices, out);
  divide(devices.traced, begin, end, [&](Nanos from, Nanos to, bool traced) {
    if (!traced) return;
    out.traced += to - from;
    auto span = std::partition_point(device.spans.begin(), device.spans.end(),
                                     [&](const Timed<DeviceSpan>* s) { return s->end() <= from; });
    Nanos since = from;  // of a gap that the window's begin cuts, when it began
    if (span != device.spans.begin()) {
      const Nanos before = (*std::prev(span))->end();
      if (lengthIn(devices.traced, before, from) == from - before) since = before;
    }
    for (; span != device.spans.end() && (*span)->at < to; ++span) {
      const Nanos a = std::max(from, (*span)->at), b = std::min(to, (*span)->end());
      if (a > from) gaps.gap(since, from, a);
      gaps.span(**span, a, b);
      since = from = b;
    }
    if (to > from) gaps.gap(since, from, to);
  });
  return out;
}

}  // namespace

std::vector<DeviceBusy> blameDevices(const TrainerTime& trainer, const DeviceTimeline& devices,
                                     Nanos begin, Nanos end) {
  std::vector<DeviceBusy> all;
  for (const DeviceTimeline::Device& device : devices.devices)
    all.push_back(blameDevice(trainer, devices, device, begin, end));
  std::stable_sort(all.begin(), all.end(),
                   [](const DeviceBusy& a, const DeviceBusy& b) { return a.busy() > b.busy(); });
  return all;
}

}  // namespace stallprof
