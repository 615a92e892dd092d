// SPDX-License-Identifier: MIT
// The one place that knows which Catch2 this is: 2.13 (Debian 12) or 3.
#pragma once

#include <iostream>
#include <string>

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
namespace Catch {
using Matchers::Contains;
}  // namespace Catch
#endif

namespace stallprof::testing {

// Reports that the running test case cannot run on this host, on the line that scripts/run_tests
// counts. The caller returns after it. (Catch2 has SKIP from 3.3 on only.)
inline void skipTest(const std::string& reason) {
  std::cout << "SKIPPED " << Catch::getResultCapture().getCurrentTestName() << ": " << reason
            << std::endl;
}

}  // namespace stallprof::testing
