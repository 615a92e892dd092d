// SPDX-License-Identifier: MIT
#include "advise/advise.h"

#include "advise/change.h"
#include "advise/cost.h"
#include "analysis/verdict/registry.h"

namespace stallprof {
namespace {

const LoaderInfo* loaderOf(const Analysis& a, const Finding& f) {
  for (const LoaderInfo& l : a.run.loaders)
    if (!f.where.file.empty() && l.where.file == f.where.file && l.where.line == f.where.line)
      return &l;
  return a.run.loaders.size() == 1 ? &a.run.loaders[0] : nullptr;
}

}  // namespace

void advise(Analysis& analysis, const AdviseOptions& options) {
  for (Finding& f : analysis.findings) {
    const LoaderInfo* loader = loaderOf(analysis, f);
    const FindingDefinition* definition = findingDefinition(f.id);
    for (Advice& advice : f.advice) {
      const AdviceContext c{analysis, f, advice, loader};
      if (const auto* offered = definition ? definition->offered(advice.id) : nullptr)
        advice.text = offered->sentence(c);
      advice.diff = diffOf(c);
      advice.verifyCommand = verifyCommandOf(c, options.recording);
    }
  }
  if (options.pricePerHour) analysis.cost = costOf(analysis, *options.pricePerHour);
}

}  // namespace stallprof
