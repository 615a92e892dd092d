// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "base/text.h"

namespace stallprof {

template <class T>
using Maybe = std::optional<T>;

struct SourceLine {
  Untrusted file, function;
  std::uint32_t line = 0;
  [[nodiscard]] bool known() const { return !file.empty() || !function.empty(); }
};

}  // namespace stallprof
