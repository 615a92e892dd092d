// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/text.h"
#include "base/time.h"
#include "present/timeline/chrome_trace_timeline.h"

// Pieces of Trace Event JSON, written as they come: no document is ever held.
namespace stallprof {

// Takes bytes in order; false: it cannot, and what follows is dropped.
using WriteBytes = std::function<bool(std::string_view)>;

class ByteStream {
 public:
  explicit ByteStream(WriteBytes write) : write_(std::move(write)) {}
  ByteStream& operator<<(std::string_view bytes) {
    held_ += bytes;
    if (held_.size() >= kHold) flush();
    return *this;
  }
  bool flush() {
    ok_ = ok_ && (held_.empty() || write_(held_));
    bytes_ += held_.size();
    held_.clear();
    return ok_;
  }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_ + held_.size(); }

 private:
  static constexpr std::size_t kHold = 1 << 16;
  WriteBytes write_;
  std::string held_;
  std::uint64_t bytes_ = 0;
  bool ok_ = true;
};

// A JSON string: valid UTF-8 with no control, bidirectional or zero-width characters, whatever the
// job named its threads.
[[nodiscard]] std::string jsonText(std::string_view bytes, std::size_t limit = 400);

// Microseconds with three digits: every nanosecond is kept. Below zero where `ns` is.
[[nodiscard]] std::string jsonMicros(Nanos ns);

[[nodiscard]] std::string jsonNumber(double value);  // finite, or 0

// {"a":1,"b":"x"}
[[nodiscard]] std::string jsonArgs(const TraceSlice& slice);

}  // namespace stallprof
