// SPDX-License-Identifier: MIT
#include "recording/activity/activity_spans.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <utility>

namespace stallprof {
namespace {

// Spans remembered for late work: at 1,000 a second some 4 s, longer than a flush takes.
constexpr std::size_t kRemembered = 4096;

bool begins(const auto& a, const auto& b) { return a.begin < b.begin; }

void join(BusySpan& into, const BusySpan& next) {
  into.end = std::max(into.end, next.end);
  into.busy += next.busy;
  into.copyOnly += next.copyOnly;
  into.collectiveOnly += next.collectiveOnly;
  into.works += next.works;
}

// Goes through work in order of its beginning and keeps, for each class, until when it is busy.
class Sweep {
 public:
  Sweep(std::int64_t gap, std::vector<BusySpan>& out) : gap_(gap), out_(out) {}

  void take(std::int64_t begin, std::int64_t end, BusyWith with, bool counts) {
    advance(begin);
    const std::int64_t reached = reach(2);
    if (!open_ || (begin > reached && begin - reached >= gap_)) close(begin);
    std::int64_t& until = until_[static_cast<std::size_t>(with)];
    until = std::max(until, end);
    span_.works += counts ? 1 : 0;
  }
  void finish() {
    advance(std::numeric_limits<std::int64_t>::max());
    close(0);
  }

 private:
  // The end of the work of the first classes, up to `last`.
  [[nodiscard]] std::int64_t reach(std::size_t last) const {
    return *std::max_element(until_.begin(),
                             until_.begin() + static_cast<std::ptrdiff_t>(last) + 1);
  }
  // Accounts for [position_, to).
  void advance(std::int64_t to) {
    if (!open_) return;
    const auto covered = [&](std::size_t last) {
      return std::max<std::int64_t>(std::min(to, reach(last)) - position_, 0);
    };
    const std::int64_t compute = covered(0), onUnits = covered(1), any = covered(2);
    span_.busy += any;
    span_.collectiveOnly += onUnits - compute;
    span_.copyOnly += any - onUnits;
    position_ = to;
  }
  void close(std::int64_t begin) {
    if (open_) {
      span_.end = reach(2);
      out_.push_back(span_);
    }
    open_ = true;
    span_ = {};
    span_.begin = position_ = begin;
    until_.fill(begin);
  }

  std::int64_t gap_;
  std::vector<BusySpan>& out_;
  bool open_ = false;
  BusySpan span_;
  std::int64_t position_ = 0;
  std::array<std::int64_t, 3> until_{};  // by BusyWith
};

}  // namespace

void BusyUnion::add(std::int64_t begin, std::int64_t end, BusyWith with) {
  if (sorted_ && !work_.empty() && begin < work_.back().begin) sorted_ = false;
  work_.emplace_back(begin, end, with, false);
}

// Streams are each in order, so what comes is nearly sorted.
void BusyUnion::sort() {
  if (sorted_) return;
  std::sort(work_.begin(), work_.end(), begins<Work, Work>);
  sorted_ = true;
}

std::int64_t BusyUnion::middle() {
  sort();
  return work_.empty() ? settled_ : work_[work_.size() / 2].begin;
}

std::int64_t BusyUnion::takeLost() { return std::exchange(lost_, 0); }

void BusyUnion::settle(std::int64_t until, std::int64_t gap, std::size_t limit,
                       std::vector<BusySpan>& out) {
  if (until <= settled_) return;
  sort();
  settleLate(out);
  const std::size_t from = out.size();
  Sweep sweep(gap, out);
  std::vector<Work> left;
  auto next = work_.begin();
  for (; next != work_.end() && next->begin < until; ++next) {
    sweep.take(next->begin, std::min(next->end(), until), next->with(), !next->goesOn());
    if (next->end() > until) left.emplace_back(until, next->end(), next->with(), true);
  }
  if (next != work_.begin()) sweep.finish();
  replace(next, left);
  settled_ = until;
  remember(out, from);
  thinSpans(out, from, limit);
}

// Work that began before what is settled: reported as far as it adds to what was reported.
void BusyUnion::settleLate(std::vector<BusySpan>& out) {
  auto next = work_.begin();
  std::vector<Work> rest;
  for (; next != work_.end() && next->begin < settled_; ++next) {
    lateWork(*next, out);
    if (next->end() > settled_) rest.emplace_back(settled_, next->end(), next->with(), true);
  }
  replace(next, rest);
}

// What is before `until` by `left`, whose members begin before all others. The memory is kept: next
// second's work needs as much.
void BusyUnion::replace(std::vector<Work>::iterator until, const std::vector<Work>& left) {
  const auto from = until - static_cast<std::ptrdiff_t>(left.size());  // no more than there were
  std::copy(left.begin(), left.end(), from);
  work_.erase(work_.begin(), from);
}

void BusyUnion::lateWork(const Work& work, std::vector<BusySpan>& out) {
  const std::int64_t end = std::min(work.end(), settled_);
  std::int64_t position = std::max(work.begin, oldest_);
  lost_ += std::max<std::int64_t>(std::min(end, position) - work.begin, 0);
  std::uint32_t works = 1;
  const auto emit = [&](std::int64_t to) {
    if (to <= position) return;
    BusySpan span{position, to, to - position, 0, 0, std::exchange(works, 0)};
    if (work.with() == BusyWith::kCopy) span.copyOnly = span.busy;
    if (work.with() == BusyWith::kCollective) span.collectiveOnly = span.busy;
    out.push_back(span);
  };
  std::vector<Emitted> added;
  auto emitted = std::partition_point(emitted_.begin(), emitted_.end(),
                                      [&](const Emitted& t) { return t.end <= position; });
  for (; emitted != emitted_.end() && emitted->begin < end; ++emitted) {
    emit(emitted->begin);
    if (emitted->begin > position) added.push_back({position, emitted->begin});
    position = std::max(position, emitted->end);
  }
  emit(end);
  if (end > position) added.push_back({position, end});
  for (const Emitted& piece : added)
    emitted_.insert(
        std::upper_bound(emitted_.begin(), emitted_.end(), piece, begins<Emitted, Emitted>), piece);
}

void BusyUnion::remember(const std::vector<BusySpan>& spans, std::size_t from) {
  for (std::size_t i = from; i < spans.size(); ++i)
    emitted_.push_back({spans[i].begin, spans[i].end});
  while (emitted_.size() > kRemembered) {
    oldest_ = emitted_.front().end;
    emitted_.pop_front();
  }
}

void thinSpans(std::vector<BusySpan>& spans, std::size_t from, std::size_t limit) {
  const std::size_t count = spans.size() - from;
  limit = std::max<std::size_t>(limit, 1);
  if (count <= limit) return;
  std::vector<std::int64_t> gaps;
  gaps.reserve(count - 1);
  for (std::size_t i = from + 1; i < spans.size(); ++i)
    gaps.push_back(spans[i].begin - spans[i - 1].end);
  // Keep the limit - 1 widest gaps.
  const auto kept = gaps.begin() + static_cast<std::ptrdiff_t>(limit - 1);
  std::nth_element(gaps.begin(), kept, gaps.end(), std::greater<>());
  const std::int64_t widest = *kept;  // joined over gaps narrower than this
  // Of those as wide as this as many are kept as may be, evenly: the gaps of a loop are all alike.
  const auto wider = static_cast<std::size_t>(
      std::count_if(gaps.begin(), gaps.end(), [&](std::int64_t gap) { return gap > widest; }));
  const auto alike = static_cast<std::size_t>(std::count(gaps.begin(), gaps.end(), widest));
  const std::size_t room = limit - 1 - wider;
  std::size_t last = from, seen = 0;
  for (std::size_t i = from + 1; i < spans.size(); ++i) {
    const std::int64_t gap = spans[i].begin - spans[last].end;
    bool keep = gap > widest;
    if (gap == widest) {
      keep = (seen + 1) * room / alike > seen * room / alike;
      ++seen;
    }
    if (keep)
      spans[++last] = spans[i];
    else
      join(spans[last], spans[i]);
  }
  spans.resize(last + 1);
}

}  // namespace stallprof
