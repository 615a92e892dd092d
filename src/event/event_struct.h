// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/time.h"
#include "event/kinds.h"
#include "event/vocabulary.h"

// What every event's struct says of itself, behind its members: the number of its kind (kinds.h),
// its name in the text form, and `fields(self, visit)`, a v("name", s.member) for each in the order
// on disk (the rules are in event.h).
#define STALLPROF_EVENT(KIND, name, ...)                       \
  static constexpr std::uint8_t kKind = STALLPROF_KIND_##KIND; \
  static constexpr const char* kName = name;                   \
  template <class S, class V>                                  \
  static void fields(S& s, V&& v) {                            \
    __VA_ARGS__;                                               \
  }
