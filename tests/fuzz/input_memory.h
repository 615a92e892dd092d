// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

#include "sampler/python/runtime/remote_memory.h"

namespace stallprof::python::testing {

// A process whose memory is the input of a fuzz target, from address 0 on, over and over. There is
// an end to all reading, as there is in a real process: what a target may cost is asked of inputs
// that lie, not of ones that go round in circles for a second.
class InputMemory : public RemoteMemory {
 public:
  explicit InputMemory(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  std::size_t read(std::span<const RemoteSpan> spans) override {
    for (std::size_t i = 0; i < spans.size(); ++i) {
      const RemoteSpan& span = spans[i];
      if (span.address >= kTimes * bytes_.size() || span.bytes > bytesLeft_ || readsLeft_ == 0)
        return i;
      bytesLeft_ -= span.bytes;
      --readsLeft_;
      copy(span);
    }
    return spans.size();
  }

 private:
  static constexpr std::uint64_t kTimes = 16;  // a little of the address space is mapped

  void copy(const RemoteSpan& span) const {
    auto* into = static_cast<std::uint8_t*>(span.into);
    std::size_t from = span.address % bytes_.size();
    for (std::size_t done = 0; done < span.bytes; from = 0) {
      const std::size_t some = std::min(span.bytes - done, bytes_.size() - from);
      std::memcpy(into + done, bytes_.data() + from, some);
      done += some;
    }
  }

  std::span<const std::uint8_t> bytes_;
  std::size_t bytesLeft_ = 128u << 10, readsLeft_ = 512;
};

}  // namespace stallprof::python::testing
