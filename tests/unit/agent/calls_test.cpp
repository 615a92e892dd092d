// SPDX-License-Identifier: MIT
#include "agent/cupti/calls.h"

#include <algorithm>
#include <iterator>

#include "recording/cupti/activity_calls.h"
#include "tests/catch.h"

namespace stallprof::agent {
namespace {

TEST_CASE("every call that is recorded has a name, and of the driver's no other has one") {
  for (const std::uint32_t call : kRuntimeCalls) {
    INFO("of the runtime: " << call);
    CHECK_FALSE(runtimeCall(call).name.empty());
  }
  for (std::uint32_t call = 0; call < 1000; ++call) {
    INFO("of the driver: " << call);
    const bool recorded =
        std::find(std::begin(kDriverCalls), std::end(kDriverCalls), call) != std::end(kDriverCalls);
    CHECK(driverCall(call).name.empty() == !recorded);
  }
}

}  // namespace
}  // namespace stallprof::agent
