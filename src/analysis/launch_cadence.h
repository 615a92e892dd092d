// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/inferred_steps.h"

namespace stallprof {

// Steps of a program of which neither the hook nor its ranges nor its stacks tell: the cadence of
// the kernels that it launches, in the process that launches most, on the thread that does.
//  - Where every kernel is told of (DeviceTrace::each) some names come back once a step: most of
//    those that come back evenly agree on after how many kernels. One name alone says nothing.
//  - A step begins with the one of them that the device idles longest before.
//  - In other seconds the totals by name say how many steps there were, told as equals. Where no
//    kernel was traced there are as many as fit.
// Never sure. Pure.
[[nodiscard]] InferredSteps launchCadence(const Trace& trace, const Roles& roles);

}  // namespace stallprof
