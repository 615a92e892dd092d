// SPDX-License-Identifier: MIT
#include "analysis/facts/loader_origin.h"

namespace stallprof {

LoaderOrigin originOf(const Trace& trace, const LoaderSeen& loader) {
  LoaderOrigin origin{loader.file, loader.line, loader.package};
  if (loader.package.none()) return origin;
  for (const auto& row : trace.loaders) {
    const LoaderSeen& other = row.data;
    const bool before = other.process == loader.process && other.loader < loader.loader;
    if (before && other.package.none() && other.dataset == loader.dataset &&
        other.workers == loader.workers)
      origin = {other.file, other.line, other.package};  // the latest of them
  }
  return origin;
}

}  // namespace stallprof
