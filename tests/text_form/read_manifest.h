// SPDX-License-Identifier: MIT
#pragma once

#include "recording/manifest.h"
#include "tests/text_form/text_words.h"

namespace stallprof {

// One NAME=VALUE of a `manifest` line into `manifest`; false: no such name, or no such value.
[[nodiscard]] bool readManifest(const TextWord& word, Manifest& manifest);

}  // namespace stallprof
