// SPDX-License-Identifier: MIT
#include "records.h"

namespace fake {
namespace {

void checkZeroed(const Buffer& b) {
  for (std::size_t i = 0; i < b.size; i += 64)
    if (b.at[i] != 0) die("the buffer is not zeroed");
}

bool haveRoom(Buffer& b, std::size_t bytes) {
  State& s = state();
  if (b.at != nullptr && b.used + bytes > b.size) returnBuffer(b);
  if (b.at != nullptr) return true;
  std::size_t maxRecords = 0;
  b.used = b.size = 0;
  inRequest = true;
  s.request(&b.at, &b.size, &maxRecords);
  inRequest = false;
  if (b.at == nullptr && kVersion < 27) die("no buffer, and before 12.9 that is a crash");
  if (b.at == nullptr) return s.dropped.fetch_add(1), false;
  if (reinterpret_cast<std::uintptr_t>(b.at) % 8 != 0 || b.size < 1024) die("a bad buffer");
  if (!s.zeroed) std::memset(b.at, 0, b.size);
  return true;
}

}  // namespace

std::size_t sizeOf(std::uint32_t kind) {
  const bool v12 = kVersion >= 19, v128 = kVersion >= 26, v13 = kVersion >= 130000;
  switch (kind) {
    case 10:
      return v13 ? 216 : v12 ? 208 : 200;
    case 1:
      return v128 ? 96 : 88;
    case 4:
    case 5:
      return 40;
    case 38:
      return v128 ? 56 : 40;
    case 51:
      return kVersion >= 21 ? 56 : 48;
    case 8:
      return v128 ? 184 : 176;
    default:
      return 0;
  }
}

bool isOn(std::uint32_t kind) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  return s.kinds.count(kind) != 0;
}

Buffer& bufferOfThread() {
  State& s = state();
  thread_local Buffer* mine = nullptr;
  if (s.perThread && mine != nullptr) return *mine;
  const std::lock_guard lock(s.mutex);
  if (!s.perThread && !s.buffers.empty()) return s.buffers.front();
  return *(mine = &s.buffers.emplace_back());
}

void returnBuffer(Buffer& b) {
  State& s = state();
  std::uint8_t* at = b.at;
  b.at = nullptr;
  if (at == nullptr || s.script.since("steal", s.flushes)) return;
  if (!s.byForce && s.script.since("stuck", s.flushes)) {
    const std::lock_guard lock(s.mutex);
    return s.stuck.push_back({at, b.size, b.used});
  }
  inComplete = true;
  s.complete(nullptr, 0, at, b.size, b.used);
  inComplete = false;
}

std::uint8_t* place(Buffer& b, std::uint32_t kind) {
  const std::size_t bytes = sizeOf(kind);
  const bool fresh = b.at == nullptr || b.used + bytes > b.size;
  if (!haveRoom(b, bytes)) return nullptr;
  // (The buffer of last resort is shared, and never zero: only the client's own are checked.)
  if (fresh && state().zeroed && b.size > 256 * 1024) checkZeroed(b);
  std::uint8_t* at = b.at + b.used;
  b.used += bytes;
  std::memset(at + 4, 0, bytes - 4);
  return at;
}

}  // namespace fake
