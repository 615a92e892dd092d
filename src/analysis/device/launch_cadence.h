// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/steps/loops/inferred_steps.h"

namespace stallprof {

// Steps of a program that neither the hook nor its ranges nor its stacks show: the cadence of the
// kernels that it launches, in the process that launches most, on the thread that does.
//  - Where every kernel is recorded (DeviceTrace::each) some names come back once a step: they
//    agree on after how many kernels, and what comes between is nearly the same each time. One name
//    alone says nothing. A model's layers come back evenly, too, but what comes after the last of
//    them is another thing; what is logged every so many steps has the steps in it, which come
//    sooner.
//  - A step begins with the one of them that the device idles longest before.
//  - In other seconds the totals by name say how many steps there were, taken as equal: of longer
//    steps the mean of as many as are within some seconds. Where no kernel was traced there are as
//    many as fit.
// How long a step may be depends on the intervals in which every kernel is recorded: together they
// must have five of it, one of them two. They last for one to ten seconds a minute (FORMAT.md), so
// steps of 2 s are found in the first, of 5 s after some minutes, and none above 10 s.
// Never sure. Pure.
[[nodiscard]] InferredSteps launchCadence(const Trace& trace, const Roles& roles);

}  // namespace stallprof
