// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stallprof {

// What a mangled C++ name (Itanium ABI) says of a function: its qualified name, and the words of
// its template arguments. Nothing is expanded: a hundred bytes of substitutions can stand for
// gigabytes in a full demangler, and a recording may hold any name. Linear in the name's length.
struct MangledName {
  std::string qualified;  // "at::native::reduce_kernel"; anonymous namespaces left out
  std::vector<std::string_view> words;  // identifiers among the first template arguments, in order
};
// nullopt where it is no mangled function name, or damaged. Views are into `raw`.
[[nodiscard]] std::optional<MangledName> readMangled(std::string_view raw);

}  // namespace stallprof
