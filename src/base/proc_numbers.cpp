// SPDX-License-Identifier: MIT
#include "base/proc_numbers.h"

#include <unistd.h>

#include <cstdlib>

namespace stallprof {

bool procHasOurNumbers() {
  char self[24] = "";
  return ::readlink("/proc/self", self, sizeof self - 1) <= 0 || std::atol(self) == ::getpid();
}

}  // namespace stallprof
