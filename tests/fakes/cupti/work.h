// SPDX-License-Identifier: MIT
#pragma once

#include "fake_cuda.h"

namespace fake {

extern const fake_tracer tracer;  // what the driver calls for each piece of work
void reportDevice();

}  // namespace fake
