// SPDX-License-Identifier: MIT
#include "analysis/steps/pieces.h"

#include <algorithm>

namespace stallprof {
namespace {

// By begin; of two that begin together the longer first, as it is the outer one.
void sortOuterFirst(std::vector<Piece>& pieces) {
  std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
}

void emit(Timeline& timeline, Piece piece, Nanos begin, Nanos end) {
  if (begin >= end) return;
  piece.begin = begin;
  piece.end = end;
  timeline.push_back(piece);
}

}  // namespace

Timeline piecesOf(const Intervals& times, Piece::Kind kind) {
  Timeline pieces;
  for (const Interval& time : times) pieces.push_back({time, kind, Phase::kOther});
  return pieces;
}

Timeline flatten(std::vector<Piece> pieces) {
  sortOuterFirst(pieces);
  Timeline timeline;
  std::vector<Piece> open;
  Nanos done = Nanos::min();
  const auto closeUntil = [&](Nanos limit) {
    while (!open.empty() && open.back().end <= limit) {
      emit(timeline, open.back(), std::max(done, open.back().begin), open.back().end);
      done = std::max(done, open.back().end);
      open.pop_back();
    }
  };
  for (const Piece& piece : pieces) {
    closeUntil(piece.begin);
    if (!open.empty()) emit(timeline, open.back(), std::max(done, open.back().begin), piece.begin);
    done = std::max(done, piece.begin);
    open.push_back(piece);
  }
  closeUntil(Nanos::max());
  return timeline;
}

Timeline keepOuter(std::vector<Piece> pieces) {
  sortOuterFirst(pieces);
  Timeline timeline;
  Nanos done = Nanos::min();
  for (const Piece& piece : pieces) {
    emit(timeline, piece, std::max(done, piece.begin), piece.end);
    done = std::max(done, piece.end);
  }
  return timeline;
}

Timeline overlay(const Timeline& base, const Timeline& top) {
  Timeline timeline;
  auto over = top.begin();
  for (const Piece& piece : base) {
    Nanos at = piece.begin;
    while (over != top.end() && over->end <= at) timeline.push_back(*over++);
    for (; over != top.end() && over->begin < piece.end; ++over) {
      emit(timeline, piece, at, over->begin);
      at = std::max(at, over->end);
      if (over->end > piece.end) break;  // reaches into the next piece of base
      timeline.push_back(*over);
    }
    emit(timeline, piece, at, piece.end);
  }
  timeline.insert(timeline.end(), over, top.end());
  return timeline;
}

}  // namespace stallprof
