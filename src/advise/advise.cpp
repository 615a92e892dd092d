// SPDX-License-Identifier: MIT
#include "advise/advise.h"

#include "advise/catalogue.h"
#include "advise/cost.h"

namespace stallprof {
namespace {

const LoaderInfo* loaderOf(const Analysis& a, const Finding& f) {
  for (const LoaderInfo& l : a.run.loaders)
    if (!f.where.file.empty() && l.where.file == f.where.file && l.where.line == f.where.line)
      return &l;
  return a.run.loaders.size() == 1 ? &a.run.loaders[0] : nullptr;
}

std::string textOf(const AdviceContext& c) {
  for (auto* words :
       {extractText, transformText, loadText, computeText, commText, periodicText, hostText})
    if (std::string text = words(c); !text.empty()) return text;
  return {};
}

}  // namespace

void advise(Analysis& analysis, const AdviseOptions& options) {
  for (Finding& f : analysis.findings) {
    const LoaderInfo* loader = loaderOf(analysis, f);
    for (Advice& advice : f.advice) {
      const AdviceContext c{analysis, f, advice, loader};
      if (std::string text = textOf(c); !text.empty()) advice.text = std::move(text);
      advice.diff = diffOf(c);
      advice.verifyCommand = verifyCommandOf(c, options.recording);
    }
  }
  if (options.pricePerHour) analysis.cost = costOf(analysis, *options.pricePerHour);
}

}  // namespace stallprof
