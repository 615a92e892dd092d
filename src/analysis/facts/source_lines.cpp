// SPDX-License-Identifier: MIT
#include "analysis/facts/source_lines.h"

#include "classify/frames.h"

namespace stallprof {

SourceLine lineOf(const Trace& trace, StackId frame) {
  if (frame.none()) return {};
  const StackSeen& seen = trace.stack(frame);
  const std::string_view file = trace.text(seen.file);
  const Untrusted function(std::string(trace.text(seen.function)));
  if (seen.kind == FrameKind::kNative) return {Untrusted(std::string(baseName(file))), function, 0};
  ModulePath module = modulePathOf(file);
  return {Untrusted(std::move(module.path)), function, module.users ? seen.line : 0};
}

SourceLine lineAt(const Trace& trace, StringId file, std::uint32_t line) {
  return {Untrusted(std::string(trace.text(file))), Untrusted(), line};
}

std::string nameOf(const SourceLine& line) {
  const std::string file = escapeTerminal(line.file.raw(), 200);
  const std::string function = escapeTerminal(line.function.raw(), 120);
  if (file.empty()) return function;
  if (line.line == 0) return file + ":" + function;
  return file + ":" + std::to_string(line.line) + (function.empty() ? "" : " " + function);
}

LoaderOrigin originOf(const Trace& trace, const LoaderSeen& loader) {
  LoaderOrigin origin{loader.file, loader.line, loader.package};
  if (loader.package.none()) return origin;
  for (const auto& row : trace.loaders) {
    const LoaderSeen& other = row.data;
    const bool before = other.process == loader.process && other.loader < loader.loader;
    if (before && other.package.none() && other.dataset == loader.dataset &&
        other.workers == loader.workers)
      origin = {other.file, other.line, other.package};  // the latest of them
  }
  return origin;
}

}  // namespace stallprof
