// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace stallprof {

// Numbers as a reader wants them inside a sentence: three significant digits at most, with a unit.
[[nodiscard]] std::string number(double value);                   // "2", "1.5", "0.04"
[[nodiscard]] std::string percent(double ratio);                  // "38 %"
[[nodiscard]] std::string duration(double seconds);               // "156 ms", "1.3 s", "40 us"
[[nodiscard]] std::string byteSize(double bytes);                 // "1.2 GB" (powers of ten)
[[nodiscard]] std::string bytesPerSecond(double rate);            // "120 MB/s"
[[nodiscard]] std::string countOf(int n, std::string_view noun);  // "1 worker", "2 workers"

}  // namespace stallprof
