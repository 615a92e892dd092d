// SPDX-License-Identifier: MIT
#include "present/words/wording_native.h"

#include <cmath>

#include "analysis/describe/stack_table.h"
#include "base/units.h"
#include "present/words/page.h"

namespace stallprof {
namespace {

constexpr double kMinNativeShare = 0.02;  // of all samples
constexpr double kWorthSaying = 0.01;     // of spinning, and of the kernel
constexpr std::size_t kClassColumns = 13;

std::string rounded(double ratio) { return std::to_string(std::lround(ratio * 100)) + " %"; }

}  // namespace

std::string nativeHead(const NativeInfo& native) {
  std::string text = countText(native.samples) + " CPU samples";
  if (native.spinRatio >= kWorthSaying)
    text += ", waiting in a spin loop " + rounded(native.spinRatio);
  if (native.kernelRatio && *native.kernelRatio >= kWorthSaying)
    text += ", in the kernel " + rounded(*native.kernelRatio);
  return text;
}

std::vector<std::string> nativeLines(const Analysis& a, std::size_t maximum) {
  std::vector<std::string> lines;
  if (!a.native) return lines;
  for (const NativeInfo::Function& f : a.native->functions) {
    if (lines.size() == maximum || f.leaf.ratio < kMinNativeShare) break;
    const std::string percent = rounded(f.leaf.ratio);
    std::string line = std::string(percent.size() < 5 ? 5 - percent.size() : 0, ' ') + percent +
                       "  " + padded(f.className, kClassColumns) +
                       (f.leaf.known() ? nameOf(f.leaf) : "(unknown)");
    if (f.below.known()) line += " under " + nameOf(f.below);
    if (f.role == "worker" && f.processes > 1)
      line += ", " + std::to_string(f.processes) + " workers";
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace stallprof
