// SPDX-License-Identifier: MIT
#include "analysis/findings/torch_version.h"

#include <charconv>

#include "analysis/findings/framework.h"

namespace stallprof {
namespace {

constexpr std::string_view kTorch = "torch";

Has compared(const Maybe<Version>& version, Version since) {
  if (!version) return Has::kUnknown;
  return *version >= since ? Has::kYes : Has::kNo;
}

// "1.13.0a0+git1234" is 1.13; null where the text does not begin with two numbers.
Maybe<Version> versionOf(std::string_view text) {
  Version v;
  const char* const end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, v.major);
  if (major.ec != std::errc{} || major.ptr == end || *major.ptr != '.') return {};
  const auto minor = std::from_chars(major.ptr + 1, end, v.minor);
  if (minor.ec != std::errc{} || v.major < 0 || v.minor < 0) return {};
  return v;
}

// Of the trainer's process, else of any; null where no PyTorch, or none of its version, was seen.
Maybe<Version> torchVersion(const Evidence& e) {
  Maybe<Version> any;
  for (const auto& row : e.trace.frameworks) {
    if (e.trace.text(row.data.name) != kTorch) continue;
    const Maybe<Version> version = versionOf(e.trace.text(row.data.version));
    if (version && row.data.process == e.trainer.process) return version;
    if (!any) any = version;
  }
  return any;
}

}  // namespace

Has hasSince(const Evidence& e, Version since) { return compared(torchVersion(e), since); }

Has hasSince(const AdviceContext& c, Version since) {
  if (!c.analysis.run.framework) return Has::kUnknown;
  const std::string_view framework = *c.analysis.run.framework;
  const std::size_t space = framework.find(' ');
  if (framework.substr(0, space) != kTorch) return Has::kNo;
  if (space == std::string_view::npos) return Has::kUnknown;
  return compared(versionOf(framework.substr(space + 1)), since);
}

std::string needsVersion(Version since) {
  return "needs PyTorch " + std::to_string(since.major) + "." + std::to_string(since.minor) +
         " or newer";
}

std::string ifNewEnough(Has has, Version since) {
  return has == Has::kUnknown ? " (" + needsVersion(since) + ")" : "";
}

std::string alsoCompile(const AdviceContext& c) {
  if (c.withoutPython()) return "";
  const Has has = hasSince(c, kCompileSince);
  return has == Has::kNo ? "" : ", torch.compile" + ifNewEnough(has, kCompileSince);
}

std::string compilerOf(const Evidence& e, std::string_view without) {
  const bool old = hasSince(e, kCompileSince) == Has::kNo;
  const PerFramework by = {old ? without : "torch.compile", "XLA", "jax.jit", without};
  return std::string(by.of(frameworkOf(e)));
}

}  // namespace stallprof
