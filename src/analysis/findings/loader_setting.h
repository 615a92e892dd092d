// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "analysis/findings/definition.h"

// How advice names a setting of the data loader, and the place to change it.
namespace stallprof {

// What takes the loader's settings under names of its own, where a known library makes the loader:
// "TrainingArguments"; else empty.
[[nodiscard]] std::string_view settingsHolder(const AdviceContext& c);

// A setting as the user has to write it: "num_workers", or the option of the library that makes the
// loader ("dataloader_num_workers"); and where: " at train.py:88", " in TrainingArguments", " where
// timm takes it (called at train.py:88)".
[[nodiscard]] std::string settingOf(const AdviceContext& c, const std::string& name);
[[nodiscard]] std::string atSetting(const AdviceContext& c);

// " at train.py:88", escaped, or "" where the line is not known.
[[nodiscard]] std::string atLine(const SourceLine& line);

}  // namespace stallprof
