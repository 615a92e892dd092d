// SPDX-License-Identifier: MIT
#include "advise/advise.h"

#include "advise/change.h"
#include "advise/cost.h"
#include "advise/outside.h"
#include "analysis/verdict/registry.h"

namespace stallprof {
void advise(Analysis& analysis, const AdviseOptions& options) {
  for (Finding& f : analysis.findings) {
    const FindingDefinition* definition = findingDefinition(f.id);
    for (Advice& advice : f.advice) {
      const AdviceContext c{analysis, f, advice, loaderAt(analysis, f.where, advice.change)};
      if (const auto* offered = definition ? definition->offered(advice.id) : nullptr)
        advice.text = offered->sentence(c);
      advice.diff = diffOf(c);
      advice.verifyCommand = verifyCommandOf(c, options.recording);
    }
  }
  if (options.pricePerHour) analysis.cost = costOf(analysis, *options.pricePerHour);
}

}  // namespace stallprof
