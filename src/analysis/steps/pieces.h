// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "base/interval.h"
#include "event/vocabulary.h"

// The trainer thread's time as pieces: what attribution is decided on. A timeline is sorted
// by time and its pieces do not overlap.
namespace stallprof {

struct Piece : Interval {
  enum class Kind : std::uint8_t {
    kPhase,      // `phase` says it all
    kStep,       // inside a step, and nothing says more: compute
    kFetch,      // a part of fetch `index`
    kIterator,   // a loader's iterator is made
    kUnwritten,  // what was reported of it was lost: other, whatever samples say
    kStopped,    // the trainer was stopped: no time of the window
  };
  Kind kind = Kind::kPhase;
  Phase phase = Phase::kOther;
  std::uint32_t index = 0;
  bool annotated = false;  // by the program itself: `phase` is exact
};
using Timeline = std::vector<Piece>;

[[nodiscard]] Timeline piecesOf(const Intervals& times, Piece::Kind kind);

// Any pieces into a timeline: where two overlap the one that began later (the inner one) is kept.
[[nodiscard]] Timeline flatten(std::vector<Piece> pieces);

// Any pieces into a timeline: where two overlap the one that began earlier (the outer one) is kept.
[[nodiscard]] Timeline keepOuter(std::vector<Piece> pieces);

// `top` over `base`: base keeps what top leaves free.
[[nodiscard]] Timeline overlay(const Timeline& base, const Timeline& top);

}  // namespace stallprof
