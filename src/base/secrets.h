// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stallprof {

// Secrets are masked before the first write: a recording never holds one. What is masked: the value
// of a flag or KEY=VALUE word whose name says so (password, token, secret, api_key, ...), the
// password of curl's --user, user-info in a URL, Authorization and Bearer values, and words of
// known token shapes (sk-, hf_, ghp_, AKIA, JWT, PEM). The masked part reads "***".
[[nodiscard]] std::vector<std::string> maskSecrets(const std::vector<std::string>& argv);

// The same in a line of source, where only what is quoted can be a secret.
[[nodiscard]] std::string maskSource(std::string_view line);

// Names of environment variables that may be recorded at all (CUDA_*, OMP_*, NCCL_*, job ids, ...);
// their values still go through the masks above.
[[nodiscard]] bool environmentRecorded(std::string_view name);
[[nodiscard]] std::string maskSecret(std::string_view name, std::string_view value);

// Whether a word that was recorded has a masked part: only the user knows it whole.
[[nodiscard]] bool hasMask(std::string_view word);

}  // namespace stallprof
