// SPDX-License-Identifier: MIT
#include <cstdio>

#include "launch/session.h"
#include "stallprof/command.h"
#include "stallprof/run_options.h"

namespace stallprof {

int verbRun(const Words& words) {
  const RunWords parsed = parseRun(words);
  if (!parsed.error.empty())
    std::fprintf(stderr, "stallprof: %s; see stallprof run --help\n", parsed.error.c_str());
  return parsed.status >= 0 ? parsed.status : runSession(parsed.options);
}

}  // namespace stallprof
