// SPDX-License-Identifier: MIT
#pragma once

#include "base/units.h"

// Short names of base/units.h's texts for the sentences of findings, which count in seconds.
namespace stallprof {

[[nodiscard]] inline std::string number(double value) { return numberText(value); }
[[nodiscard]] inline std::string percent(double ratio) { return percentText(ratio); }
[[nodiscard]] inline std::string duration(double seconds) { return valueText(seconds * 1e9, "ns"); }
[[nodiscard]] inline std::string byteSize(double bytes) { return bytesText(bytes); }
[[nodiscard]] inline std::string bytesPerSecond(double rate) { return rateText(rate, "bytes"); }

}  // namespace stallprof
