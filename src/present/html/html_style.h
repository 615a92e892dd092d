// SPDX-License-Identifier: MIT
#pragma once

#include "present/html/html_writer.h"

namespace stallprof {

// The style sheet of the report: light, dark, narrow, print. The colours of phases are set once.
[[nodiscard]] Literal reportStyle();

}  // namespace stallprof
