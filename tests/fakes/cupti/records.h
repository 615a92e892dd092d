// SPDX-License-Identifier: MIT
#pragma once

#include <cstring>

#include "state.h"

// Records in the client's buffers.
namespace fake {

// sizeof of the newest record of this version, by kind; 0: not made here.
std::size_t sizeOf(std::uint32_t kind);

bool isOn(std::uint32_t kind);

// With the buffer's lock held.
std::uint8_t* place(Buffer& buffer,
                    std::uint32_t kind);  // zeros of the record's size; null: no room
void returnBuffer(Buffer& buffer);

Buffer& bufferOfThread();

template <class Fill>
void record(std::uint32_t kind, Fill fill) {
  Buffer& b = bufferOfThread();
  const std::lock_guard lock(b.mutex);
  std::uint8_t* at = place(b, kind);
  if (at == nullptr) return;
  fill(at);
  std::memcpy(at, &kind, 4);
}

template <class T>
void set(std::uint8_t* at, std::size_t offset, T value) {
  std::memcpy(at + offset, &value, sizeof value);
}

}  // namespace fake
