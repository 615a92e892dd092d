// SPDX-License-Identifier: MIT
#include "launch/attach.h"

#include <cstdio>

#include "stallprof/command.h"
#include "stallprof/run_options.h"

namespace stallprof {

int verbAttach(const Words& words) {
  const AttachWords parsed = parseAttach(words);
  if (!parsed.error.empty())
    std::fprintf(stderr, "stallprof: %s; see stallprof attach --help\n", parsed.error.c_str());
  return parsed.status >= 0 ? parsed.status
                            : attachSession(parsed.pid, parsed.options, parsed.limit);
}

}  // namespace stallprof
