// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace stallprof {

// A kernel of NCCL or its kin, by its name, mangled or not.
[[nodiscard]] constexpr bool isCollective(std::string_view kernel) {
  constexpr std::array<std::string_view, 9> kParts = {"nccl",
                                                      "nvshmem",
                                                      "deep_ep",
                                                      "cross_device_reduce",
                                                      "multimem_",
                                                      "one_shot_all_reduce",
                                                      "two_shot_all_reduce",
                                                      "rccl",
                                                      "msccl"};
  return std::any_of(kParts.begin(), kParts.end(), [&](std::string_view part) {
    return kernel.find(part) != std::string_view::npos;
  });
}

}  // namespace stallprof
