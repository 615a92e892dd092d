// SPDX-License-Identifier: MIT
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/findings/definition.h"

// Advice names only what the PyTorch that ran has. `prefetch_factor` and `persistent_workers` (1.7)
// need no check: the hook reads both, so a loader that was seen has them.
namespace stallprof {

struct Version {
  int major = 0, minor = 0;
  friend auto operator<=>(const Version&, const Version&) = default;
};
inline constexpr Version kInOrderSince{2, 6};     // DataLoader(in_order=)
inline constexpr Version kAsyncSaveSince{2, 3};   // torch.distributed.checkpoint.async_save
inline constexpr Version kCompileSince{2, 0};     // torch.compile
inline constexpr Version kFusedOnCpuSince{2, 4};  // torch.optim.Adam(fused=True), without CUDA

enum class Has : std::uint8_t { kNo, kUnknown, kYes };
[[nodiscard]] Has hasSince(const Evidence& e, Version since);
// Of a run of another framework: no.
[[nodiscard]] Has hasSince(const AdviceContext& c, Version since);

// "needs PyTorch 2.6 or newer"
[[nodiscard]] std::string needsVersion(Version since);
// That in brackets after a name, where it is not known whether the run has it; else empty.
[[nodiscard]] std::string ifNewEnough(Has has, Version since);
// ", torch.compile" among ways to make a step cheaper; empty where the run had none.
[[nodiscard]] std::string alsoCompile(const AdviceContext& c);
// What compiles the run's step ("torch.compile", "XLA", "jax.jit"), or `without` where nothing
// does.
[[nodiscard]] std::string compilerOf(const Evidence& e, std::string_view without);

}  // namespace stallprof
