// SPDX-License-Identifier: MIT
#include "classify/frames.h"

#include <algorithm>

namespace stallprof {
namespace {

constexpr std::string_view kFrozen = "<frozen ";

// After "<marker>/" where the last of them ends; npos where none is.
std::size_t afterPackages(std::string_view file) {
  std::size_t after = std::string_view::npos;
  for (const std::string_view marker : {"/site-packages/", "/dist-packages/"})
    if (const std::size_t at = file.rfind(marker); at != std::string_view::npos)
      after = std::max(after == std::string_view::npos ? 0 : after, at + marker.size());
  return after;
}

bool digit(char c) { return c >= '0' && c <= '9'; }

// After "/lib/python3.11/", also lib64 and the zip some builds keep the library in.
std::size_t afterStandardLibrary(std::string_view file) {
  std::size_t found = std::string_view::npos;
  for (std::size_t at = file.find("/python"); at != std::string_view::npos;
       at = file.find("/python", at + 1)) {
    const std::string_view before = file.substr(0, at);
    if (!before.ends_with("/lib") && !before.ends_with("/lib64")) continue;
    std::size_t i = at + 7;
    while (i < file.size() && (digit(file[i]) || file[i] == '.')) ++i;
    if (file.substr(i).starts_with("zip")) i += 3;
    if (i > at + 7 && i < file.size() && file[i] == '/') found = i + 1;
  }
  return found;
}

// "<frozen importlib._bootstrap>" is importlib/_bootstrap.py.
std::string frozenPath(std::string_view file) {
  std::string path(file.substr(kFrozen.size(), file.size() - kFrozen.size() - 1));
  std::replace(path.begin(), path.end(), '.', '/');
  return path + ".py";
}

std::string_view lastPart(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

// Whether the pattern fits all of the text; with `open`, its beginning. Greedy with one way back,
// so linear in practice and never exponential.
bool fitsGlob(std::string_view text, std::string_view pattern, bool open) {
  std::size_t t = 0, p = 0, star = std::string_view::npos, mark = 0;
  while (t < text.size()) {
    if (open && p == pattern.size()) return true;
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else
      return false;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

// Whether it fits what is behind a `boundary`, as "*/" and the pattern would all of the text. Not
// put together for that: a frame is asked of all patterns.
bool fitsBehind(std::string_view text, char boundary, std::string_view pattern, bool open) {
  const std::string_view head = pattern.substr(0, pattern.find('*'));
  for (std::size_t at = text.find(boundary); at != std::string_view::npos;
       at = text.find(boundary, at + 1)) {
    const std::string_view behind = text.substr(at + 1);
    if (!behind.starts_with(head)) continue;
    if (fitsGlob(behind, pattern, open)) return true;
    if (head.size() < pattern.size()) return false;  // its * takes what is before a later place
  }
  return false;
}

}  // namespace

ModulePath modulePathOf(std::string_view file) {
  if (file.starts_with(kFrozen) && file.ends_with('>')) return {frozenPath(file), false};
  // NumPy makes its dispatchers with exec, under this name (numpy/core/overrides.py).
  if (file == "<__array_function__ internals>") return {"numpy/core/overrides.py", false};
  // The hook's own, which runs in the program's processes.
  constexpr std::string_view kHook = "/stallprof/hook/";
  if (const std::size_t at = file.rfind(kHook); at != std::string_view::npos)
    return {std::string(file.substr(at + kHook.size())), false};
  // What torch.compile has written: /tmp/torchinductor_USER/ab/cab....py.
  constexpr std::string_view kInductor = "/torchinductor_";
  if (const std::size_t at = file.find(kInductor); at != std::string_view::npos)
    return {std::string(file.substr(at + 1)), false};
  std::size_t after = afterPackages(file);
  if (after == std::string_view::npos) after = afterStandardLibrary(file);
  if (after == std::string_view::npos) return {std::string(file), true};
  return {std::string(file.substr(after)), false};
}

bool fitsPattern(std::string_view text, std::string_view pattern) {
  return fitsGlob(text, pattern, false);
}

bool fitsAny(std::string_view text, std::span<const std::string_view> patterns) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](std::string_view pattern) { return fitsPattern(text, pattern); });
}

bool fitsModule(const ModulePath& module, std::string_view pattern) {
  const bool below = pattern.ends_with('/');
  if (fitsGlob(module.path, pattern, below)) return true;
  return module.users && fitsBehind(module.path, '/', pattern, below);
}

bool fitsFunction(std::string_view function, std::string_view pattern) {
  if (fitsPattern(function, pattern)) return true;
  const bool qualified = function.find('.') != std::string_view::npos;
  if (qualified) return fitsBehind(function, '.', pattern, false);
  // All of a class, "NpzFile.*": without the class's name nothing is left to match.
  const std::string_view last = lastPart(pattern);
  return last != pattern && last != "*" && fitsPattern(function, last);
}

std::string_view baseName(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace stallprof
