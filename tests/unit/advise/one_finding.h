// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>

#include "analysis/facts/analysis.h"

namespace stallprof::test {

// A run of `train.py` with one loader, and one finding at its line that offers one advice.
inline Analysis oneFinding(std::vector<Untrusted> command, LoaderInfo loader, const char* finding,
                           const char* id, Advice::Change change) {
  Analysis a;
  a.run.command = std::move(command);
  loader.batchSize = 32;
  loader.where.file = Untrusted("train.py");
  Finding f;
  f.rank = 1;
  f.id = finding;
  f.where = loader.where;
  Advice advice;
  advice.id = id;
  advice.change = std::move(change);
  f.advice.push_back(advice);
  a.run.loaders.push_back(std::move(loader));
  a.findings.push_back(f);
  return a;
}

inline bool holds(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace stallprof::test
