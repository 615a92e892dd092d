// SPDX-License-Identifier: MIT
#include <algorithm>

#include "analysis/blame/device_blame.h"

namespace stallprof {
namespace {

// A call that waits returns some microseconds after the device's last work has ended, and the two
// clocks agree to about as much (measured).
constexpr Nanos kReturns{20'000};

class Gaps {
 public:
  Gaps(const Trace& trace, const TrainerTime& trainer, const DeviceTimeline& devices,
       DeviceBusy& out)
      : trainer_(trainer),
        devices_(devices),
        out_(out),
        evaluations_(evaluationsOf(trace, trainer.timeline)),
        saves_(savesOf(trace, trainer.timeline.who.thread)) {
    for (const EpochSpan& epoch : trainer.timeline.epochs)
      if (epoch.evaluation) evaluations_.push_back({epoch.iterator, epoch.end});
    evaluations_ = joined(std::move(evaluations_));
  }

  // What of a span lies in `piece`: its parts are taken as even over it.
  void span(const Timed<DeviceSpan>& span, const Interval& piece) {
    const DeviceSpan& s = span.data;
    const auto inPiece = [&](Nanos part) {
      return proportion(std::clamp(part, Nanos{}, s.duration), piece.length(), s.duration);
    };
    const Nanos busy = inPiece(s.busy);
    const Nanos copies = std::min(busy, inPiece(s.copyOnly));
    const Nanos collectives = std::min(busy - copies, inPiece(s.collectiveOnly));
    out_.copies += copies;
    out_.collectives += collectives;
    out_.kernels += busy - copies - collectives;
    out_.idle.launch += piece.length() - busy;  // gaps under kDeviceGap
    if (span.at >= piece.begin) out_.works += s.works;
  }

  // A gap of which `piece` is asked for; it began at `since`.
  void gap(Nanos since, const Interval& piece) {
    gapLength_ = piece.end - since;
    drained_ = drainedAt(since);
    divide(trainer_.pieces, piece, [&](const Interval& part, const Piece* known) {
      if (known)
        name(*known, part);
      else
        out_.idle.other += part.length();
    });
  }

 private:
  [[nodiscard]] bool drainedAt(Nanos at) const {
    const auto call =
        std::partition_point(devices_.calls.begin(), devices_.calls.end(),
                             [&](const BlockingCall& c) { return c.end < at - kReturns; });
    return call != devices_.calls.end() && !call->copy && call->begin <= at + kReturns;
  }

  void name(const Piece& piece, const Interval& idleTime) {
    if (piece.kind == Piece::Kind::kStep) return step(idleTime);
    // What lasts longer than the launching is why the device has nothing to do from then on.
    if (idleTime.length() > kLaunchGap) drained_ = false;
    if (piece.kind == Piece::Kind::kFetch) return fetch(piece.index, idleTime);
    if (piece.phase == Phase::kCompute && piece.kind == Piece::Kind::kPhase) return step(idleTime);
    (piece.kind == Piece::Kind::kIterator ? out_.idle.load : idleOf(piece.phase, idleTime.begin)) +=
        idleTime.length();
  }

  Nanos& idleOf(Phase phase, Nanos at) {
    DeviceIdle& idle = out_.idle;
    switch (phase) {
      case Phase::kSync:
        return idle.sync;
      case Phase::kComm:
        return idle.comm;
      case Phase::kPeriodic:
        return evaluating(at) ? idle.evaluation : idle.checkpoint;
      case Phase::kLoad:
        return idle.load;
      case Phase::kExtract:
        return idle.extract;
      case Phase::kTransform:
        return idle.transform;
      case Phase::kCompute:
      case Phase::kUnknown:
      case Phase::kOther:
        break;
    }
    return idle.other;
  }

  [[nodiscard]] bool evaluating(Nanos at) const {
    return containsAny(evaluations_, at) && !containsAny(saves_, at);
  }

  void fetch(std::uint32_t index, const Interval& idleTime) {
    const TrainerTimeline& timeline = trainer_.timeline;
    const Nanos turn = std::clamp(timeline.waitEnd(index), idleTime.begin, idleTime.end);
    const Blame blame = trainer_.producers.blame(timeline.epochs[timeline.epochOf[index]],
                                                 *timeline.fetches[index], {idleTime.begin, turn});
    DeviceIdle& idle = out_.idle;
    idle.extract += blame.extract;
    idle.transform += blame.transform;
    idle.load += blame.load + blame.startup + (idleTime.end - turn);
    idle.unknown += blame.unknown;
  }

  void step(const Interval& idleTime) {
    divide(devices_.calls, idleTime, [&](const Interval& part, const BlockingCall* call) {
      if (!call) return work(part.length());
      (call->copy ? out_.idle.copy : out_.idle.sync) += part.length();
      drained_ = drained_ || !call->copy;
    });
  }

  void work(Nanos time) {
    DeviceIdle& idle = out_.idle;
    const bool waited = drained_ && time < kLaunchGap;
    Nanos& of = waited ? idle.sync : gapLength_ < kLaunchGap ? idle.launch : idle.host;
    of += time;
    if (&of == &idle.host && gapLength_ < kBridged) idle.hostBridged += time;
  }

  const TrainerTime& trainer_;
  const DeviceTimeline& devices_;
  DeviceBusy& out_;
  Intervals evaluations_, saves_;
  Nanos gapLength_{};
  bool drained_ = false;
};

// When a gap began that the window cuts at `at`: at the end of the device's last span before, where
// all of the time since was traced.
Nanos beganAt(const DeviceTimeline& devices, const DeviceTimeline::Device& device, Nanos at) {
  const auto next = std::partition_point(device.spans.begin(), device.spans.end(),
                                         [&](const auto* span) { return span->end() <= at; });
  if (next == device.spans.begin()) return at;
  const Interval before{(*std::prev(next))->end(), at};
  return lengthIn(devices.traced, before) == before.length() ? before.begin : at;
}

DeviceBusy blameDevice(const Trace& trace, const TrainerTime& trainer,
                       const DeviceTimeline& devices, const DeviceTimeline::Device& device,
                       const Interval& window) {
  DeviceBusy out;
  out.device = device.id;
  Gaps gaps(trace, trainer, devices, out);
  divide(devices.traced, window, [&](const Interval& traced, bool known) {
    if (!known) return;
    out.traced += traced.length();
    divide(device.spans, traced, [&](const Interval& piece, const Timed<DeviceSpan>* const* span) {
      if (span) return gaps.span(**span, piece);
      gaps.gap(piece.begin > traced.begin ? piece.begin : beganAt(devices, device, piece.begin),
               piece);
    });
  });
  return out;
}

}  // namespace

std::vector<DeviceBusy> blameDevices(const Trace& trace, const TrainerTime& trainer,
                                     const DeviceTimeline& devices, const Interval& window) {
  std::vector<DeviceBusy> all;
  for (const DeviceTimeline::Device& device : devices.devices)
    all.push_back(blameDevice(trace, trainer, devices, device, window));
  std::stable_sort(all.begin(), all.end(),
                   [](const DeviceBusy& a, const DeviceBusy& b) { return a.busy() > b.busy(); });
  return all;
}

}  // namespace stallprof
