// SPDX-License-Identifier: MIT
#include "sampler/slice_builder.h"

#include <algorithm>
#include <utility>

namespace stallprof {

void SliceBuilder::start(ThreadId thread, Nanos at) {
  *this = SliceBuilder();
  thread_ = thread;
  begin_ = last_ = at;
}

void SliceBuilder::sample(Nanos now, Nanos run, Nanos queued, const Seen& seen, EventOut& out) {
  const Nanos duration = std::max(now - last_, Nanos::zero());
  const bool changed = used_ > 0 && !(parts_[0].seen == seen);
  const Nanos held = last_ - begin_;
  if (used_ > 0 && ((changed && held >= window_) || held + duration > longest_)) flush(out);
  add(seen, duration, run, queued);
  last_ = std::max(now, last_);
  if (used_ > 1 && last_ - begin_ >= window_) flush(out);
}

void SliceBuilder::add(const Seen& seen, Nanos duration, Nanos run, Nanos queued) {
  std::size_t i = 0;
  while (i < used_ && !(parts_[i].seen == seen)) ++i;
  if (i == parts_.size()) {  // more labels than parts: by class, without its name
    i = 0;
    while (i + 1 < parts_.size() && parts_[i].seen.wait != seen.wait) ++i;
    const Wait wait = parts_[i].seen.wait == seen.wait ? seen.wait : Wait::kOther;
    parts_[i].seen = Seen{wait, {}};
  }
  if (i == used_) parts_[used_++] = Part{seen, {}, {}, {}, 0};
  Part& part = parts_[i];
  part.duration += duration;
  part.run += run;
  part.queued += queued;
  ++part.samples;
}

void SliceBuilder::emit(Part& part, EventOut& out) {
  run_ += part.run;
  queued_ += part.queued;
  if (part.duration <= Nanos::zero()) return;
  ThreadSlice slice;
  slice.thread = thread_;
  slice.duration = part.duration;
  slice.run = std::min(run_, slice.duration);
  slice.queued = std::min(queued_, slice.duration - slice.run);
  run_ -= slice.run;
  queued_ -= slice.queued;
  slice.wait = part.seen.wait;
  slice.what = part.seen.what;
  slice.samples = part.samples;
  out.emit(begin_, slice);
  begin_ += slice.duration;
  ++emitted_;
}

void SliceBuilder::flush(EventOut& out) {
  for (std::size_t i = 0; i < used_; ++i) emit(parts_[i], out);
  used_ = 0;
}

void SliceBuilder::lose(Nanos now, EventOut& out, Nanos run, Nanos queued) {
  flush(out);
  if (now <= last_) return;
  add(Seen{}, now - last_, run, queued);
  parts_[0].samples = 0;
  last_ = now;
  flush(out);
}

std::size_t SliceBuilder::takeEmitted() { return std::exchange(emitted_, 0); }

}  // namespace stallprof
