// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

#include "base/fd.h"

namespace stallprof::python {

using Address = std::uint64_t;  // in the other process

struct RemoteSpan {
  Address address = 0;
  void* into = nullptr;
  std::size_t bytes = 0;
};

// The memory of another process, read only. What comes out of it is untrusted: it may have changed
// while it was read, and it may be anything.
class RemoteMemory {
 public:
  virtual ~RemoteMemory() = default;
  // Reads the spans in order and says how many were read whole: all, or up to the first that could
  // not be. At most kMaxSpans.
  [[nodiscard]] virtual std::size_t read(std::span<const RemoteSpan> spans) = 0;
  // Reading is not allowed to us: the errno of the last try; 0 while it is.
  [[nodiscard]] virtual int refused() const { return 0; }
  // False once the process has called exec, or has ended. True where that is unknown.
  // `known`: an address that was mapped.
  [[nodiscard]] virtual bool sameImage(Address /*known*/) const { return true; }
  static constexpr std::size_t kMaxSpans = 1024;  // IOV_MAX

  [[nodiscard]] bool readBytes(Address at, void* into, std::size_t bytes) {
    const RemoteSpan span{at, into, bytes};
    return read({&span, 1}) == 1;
  }
  template <class T>
  [[nodiscard]] std::optional<T> get(Address at) {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    return readBytes(at, &value, sizeof value) ? std::optional<T>(value) : std::nullopt;
  }
};

// A value inside bytes that were read; 0 where it would lie outside of them.
template <class T>
[[nodiscard]] T valueAt(std::span<const std::uint8_t> bytes, std::size_t offset) {
  T value{};
  if (offset <= bytes.size() && bytes.size() - offset >= sizeof value)
    std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// A living process: process_vm_readv, and where that is refused (a container's seccomp filter)
// /proc/PID/mem, which the kernel guards by the same rule but no filter does.
class ProcessMemory : public RemoteMemory {
 public:
  explicit ProcessMemory(std::uint32_t pid);
  [[nodiscard]] std::size_t read(std::span<const RemoteSpan> spans) override;

  [[nodiscard]] int refused() const override { return refused_; }
  // By the descriptor: it stays with the image it was opened on.
  [[nodiscard]] bool sameImage(Address known) const override;

 private:
  [[nodiscard]] std::size_t readFile(std::span<const RemoteSpan> spans);

  pid_t pid_;
  Fd file_;
  int refused_ = 0;
  bool call_ = true;  // process_vm_readv works, as far as known
};

}  // namespace stallprof::python
