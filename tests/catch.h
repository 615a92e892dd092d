// SPDX-License-Identifier: MIT
// The one place that knows which Catch2 this is: 2.13 (Debian 12) or 3.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
namespace Catch {
using Matchers::Contains;
}  // namespace Catch
#endif
