// SPDX-License-Identifier: MIT
#include "recording/cupti/activity_clock.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace stallprof {
namespace {

// NTP moves both clocks of the kernel alike, and never by more than 500 ppm; a second clock in a
// device drifts by some 100 ppm. A clock set by hand jumps by more than any of it.
constexpr double kRateLimit = 1e-3;
// What a pair may be off beside its bracket: a reader that lost its CPU within it.
constexpr std::int64_t kPairError = 50'000;
// A shorter interval says nothing of the rate: its pairs' errors are as large.
constexpr std::int64_t kRateInterval = 100'000'000;
// Pairs come once a second; records are never minutes late.
constexpr std::size_t kPieces = 512;
constexpr std::uint64_t kInstantLimit = std::uint64_t{1} << 62;
// A time so far behind a pair is of another clock.
constexpr std::int64_t kReach = 1'000'000'000'000;
// Of a clock that does not count nanoseconds: from a tick of 10 ns to ten a nanosecond.
constexpr double kSlowestRate = 0.1, kFastestRate = 10;

}  // namespace

void ActivityClock::add(const stallprof_clock_pair& pair) {
  if (pair.monotonic >= kInstantLimit || pair.device >= kInstantLimit || pair.monotonic == 0)
    return;
  Piece next{static_cast<std::int64_t>(pair.device), static_cast<std::int64_t>(pair.monotonic), 0,
             false};
  if (!pieces_.empty()) {
    if (pair.monotonic <= last_.monotonic) return;
    Piece& before = pieces_.back();
    const auto elapsed = static_cast<double>(next.monotonic - before.monotonic);
    const auto ticked = static_cast<double>(next.device - before.device);
    const double allowed =
        elapsed * kRateLimit + static_cast<double>(kPairError) +
        static_cast<double>(std::min<std::uint64_t>(pair.uncertainty + last_.uncertainty,
                                                    static_cast<std::uint64_t>(kRateInterval)));
    const bool steady = std::abs(ticked - elapsed * rate_) <= allowed * rate_;
    const bool waited = std::exchange(unsettled_, false);
    if (steady && waited) confirm(pieces_[pieces_.size() - 2]);
    if (!steady) rate_ = 1;
    before.broken = !steady && std::abs(ticked - elapsed) > allowed;
    if (before.broken) {
      ++breaks_;
      before.slope = 0;
      const double rate = ticked / elapsed;
      if (elapsed >= kRateInterval && rate >= kSlowestRate && rate <= kFastestRate) {
        unsettled_ = !waited;
        rate_ = rate;
      }
      next.slope = 1 / rate_ - 1;
    } else {
      before.slope = elapsed / ticked - 1;
      // The rate of the newest piece, until its end is known.
      next.slope = elapsed >= kRateInterval ? before.slope : 1 / rate_ - 1;
    }
  }
  last_ = pair;
  if (pieces_.size() == kPieces) pieces_.erase(pieces_.begin(), pieces_.begin() + kPieces / 2);
  pieces_.push_back(next);
}

// The next piece has the rate of this one, so that no clock was set in it.
void ActivityClock::confirm(Piece& piece) {
  piece.broken = false;
  piece.slope = 1 / rate_ - 1;
  --breaks_;
}

const ActivityClock::Piece* ActivityClock::pieceOf(std::int64_t device) const {
  if (pieces_.empty()) return nullptr;
  // Newest first: most records are younger than the last pair or the one before. A clock that was
  // set back has two pieces for some of its times; the newer is as good a guess as there is.
  for (std::size_t i = pieces_.size(); i-- > 0;) {
    const std::int64_t since = device - pieces_[i].device;
    const bool within = i + 1 < pieces_.size() && device < pieces_[i + 1].device;
    if (since >= 0 && (within || since < kReach)) return &pieces_[i];
  }
  return &pieces_.front();
}

std::optional<Nanos> ActivityClock::monotonic(std::uint64_t device) const {
  if (device >= kInstantLimit) return std::nullopt;
  const auto instant = static_cast<std::int64_t>(device);
  const Piece* piece = pieceOf(instant);
  if (piece == nullptr || (piece->broken && instant >= piece->device)) return std::nullopt;
  return Nanos(piece->monotonicAt(instant));
}

std::optional<ActivityClock::Interval> ActivityClock::interval(std::uint64_t begin,
                                                               std::uint64_t end) const {
  if (begin >= kInstantLimit || end >= kInstantLimit) return std::nullopt;
  const auto from = static_cast<std::int64_t>(begin), to = static_cast<std::int64_t>(end);
  const Piece* piece = pieceOf(from);
  if (piece == nullptr) return std::nullopt;
  // Nearly always both are in one piece.
  const bool whole =
      piece->device <= from && from <= to && (piece == &pieces_.back() || to < piece[1].device);
  if (whole) {
    if (piece->broken) return std::nullopt;
    return Interval{piece->monotonicAt(from), piece->monotonicAt(to)};
  }
  const auto first = monotonic(begin), last = monotonic(end);
  if (!first || !last) return std::nullopt;
  return Interval{first->count(), last->count()};
}

}  // namespace stallprof
