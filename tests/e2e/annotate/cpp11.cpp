// SPDX-License-Identifier: MIT
//
// The header in C++11, as a library that links nothing.
#include "stallprof/annotate.h"

void trainStep() {
  const stallprof::StepMark step;
  const stallprof::PhaseMark phase(STALLPROF_COMPUTE);
}
