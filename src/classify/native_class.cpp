// SPDX-License-Identifier: MIT
#include "classify/native_class.h"

#include <algorithm>

#include "classify/frames.h"
#include "classify/mangled_name.h"

namespace stallprof {
namespace {

constexpr std::size_t kLongest = 200;

bool fitsAnyFile(std::string_view file, std::span<const std::string_view> patterns) {
  const std::string_view name = baseName(file);
  return std::any_of(patterns.begin(), patterns.end(), [&](std::string_view pattern) {
    return fitsPattern(pattern.find('/') == std::string_view::npos ? name : file, pattern);
  });
}

bool fits(const NativeRule& rule, std::string_view file, std::string_view symbol) {
  if (!rule.libraries.empty() && !fitsAnyFile(file, rule.libraries)) return false;
  return rule.symbols.empty() || fitsAny(symbol, rule.symbols);
}

// "_ZN4core3fmt5write17h0123456789abcdefE": how Rust distinguishes two functions of one name.
void dropHash(std::string& name) {
  constexpr std::size_t kHash = 19;  // "::h" and 16 digits
  if (name.size() <= kHash || name.compare(name.size() - kHash, 3, "::h") != 0) return;
  if (name.find_first_not_of("0123456789abcdef", name.size() - kHash + 3) == std::string::npos)
    name.resize(name.size() - kHash);
}

}  // namespace

NativeClass nativeClass(std::string_view file, std::string_view symbol) {
  for (const NativeRule& rule : nativeRules())
    if (fits(rule, file, symbol)) return rule.is;
  return NativeClass::kProgram;
}

std::string readableSymbol(std::string_view raw) {
  raw = raw.substr(0, raw.find('@'));
  std::string name(raw);
  if (auto mangled = readMangled(raw)) name = std::move(mangled->qualified);
  dropHash(name);
  if (name.size() > kLongest) name.resize(kLongest);
  return name;
}

}  // namespace stallprof
