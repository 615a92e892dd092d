// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "analysis/facts/analysis.h"

namespace stallprof {

struct Picture;

// What a presentation may need beside the analysis itself.
struct PresentOptions {
  int width = 100;        // columns of a text report
  bool colour = false;    // never carries meaning alone
  std::string recording;  // path as the user gave it, for the next commands; may be empty
  const Picture* picture = nullptr;  // what html draws of single steps; null leaves that out
};

}  // namespace stallprof
