// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "advise/advise.h"

namespace stallprof {

// One advice and what surrounds it.
struct AdviceContext {
  const Analysis& analysis;
  const Finding& finding;
  const Advice& advice;
  const LoaderInfo* loader = nullptr;  // the one the finding points at, or the only one
};

// The sentence of an advice, imperative and with its numbers; "" where the file of that phase does
// not know the id. The same advice may read differently under another finding.
[[nodiscard]] std::string extractText(const AdviceContext& c);
[[nodiscard]] std::string transformText(const AdviceContext& c);
[[nodiscard]] std::string loadText(const AdviceContext& c);
[[nodiscard]] std::string computeText(const AdviceContext& c);
[[nodiscard]] std::string commText(const AdviceContext& c);
[[nodiscard]] std::string periodicText(const AdviceContext& c);
[[nodiscard]] std::string hostText(const AdviceContext& c);

// "- old" and "+ new" lines from the settings that were seen; "" where code is not ours to guess.
[[nodiscard]] std::string diffOf(const AdviceContext& c);

// A shell line that runs the changed program and compares it with this recording; argv is quoted.
[[nodiscard]] std::string verifyCommandOf(const AdviceContext& c, const std::string& recording);

// " at train.py:88", or "" where the line is not known.
[[nodiscard]] std::string atLine(const SourceLine& line);

// A setting of the loader as the user has to say it: "num_workers", or the option of the library
// that makes the loader ("dataloader_num_workers"); and where: " at train.py:88", " in
// TrainingArguments", " where timm takes it (called at train.py:88)".
[[nodiscard]] std::string settingOf(const AdviceContext& c, const std::string& name);
[[nodiscard]] std::string atSetting(const AdviceContext& c);

}  // namespace stallprof
