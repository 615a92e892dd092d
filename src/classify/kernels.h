// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stallprof {

// What a kernel does, as its name says.
enum class KernelCategory : std::uint8_t {
  kCollective,
  kAttention,
  kConvolution,
  kMatmul,
  kOptimizer,
  kNormalization,
  kReduction,
  kIndexing,  // embedding, gather, scatter, sort
  kMovement,  // copies made by kernels: cat, transpose, cast
  kElementwise,
  kOther,
};
[[nodiscard]] constexpr std::string_view nameOf(KernelCategory c) {
  constexpr std::string_view kNames[] = {"collective", "attention",     "convolution", "matmul",
                                         "optimizer",  "normalization", "reduction",   "indexing",
                                         "movement",   "elementwise",   "other"};
  return kNames[static_cast<std::size_t>(c)];
}
inline constexpr std::size_t kKernelCategories = 11;

struct KernelName {
  // Without return type, template arguments and parameters, but with the functor that distinguishes
  // one generic kernel from another: "at::native::vectorized_elementwise_kernel<AddFunctor>". Bytes
  // of the job's: escape at the sink. At most kLongest.
  std::string shortName;
  KernelCategory category = KernelCategory::kOther;
  static constexpr std::size_t kLongest = 200;
};

// Of a kernel's name as the driver gives it, mangled or not. Pure.
[[nodiscard]] KernelName kernelName(std::string_view raw);

}  // namespace stallprof
