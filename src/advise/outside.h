// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/facts/analysis.h"

// Changes that `stallprof run` can make to a program from outside, its code as it is.
namespace stallprof {

// Whether `run` can change the arguments of loaders of that kind.
[[nodiscard]] bool takesSettings(const LoaderInfo& loader);

// The loader that a finding points at, or the only one; null: neither.
// `change`: of several that one line makes, in a function of its own, the one with that setting.
[[nodiscard]] const LoaderInfo* loaderAt(const Analysis& analysis, const SourceLine& where,
                                         const Advice::Change& change = {});

// "--loader", FILE:LINE; nothing where the program made one loader only.
[[nodiscard]] std::vector<std::string> loaderPlace(const Analysis& analysis,
                                                   const LoaderInfo& loader);

// Options of `run` that give the loader other values of its arguments; nothing where there are
// none.
[[nodiscard]] std::vector<std::string> settingOptions(const Analysis& analysis,
                                                      const LoaderInfo& loader,
                                                      const std::vector<Advice::Change>& changes);

// Options of `run` that make the change; empty: it is none that `run` can make.
[[nodiscard]] std::vector<std::string> outsideOptions(const Analysis& analysis,
                                                      const Finding& finding, const Advice& advice);

}  // namespace stallprof
