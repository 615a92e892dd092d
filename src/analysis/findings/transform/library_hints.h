// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "analysis/findings/hot.h"
#include "classify/frames.h"

namespace stallprof {

struct LibraryHint {
  std::string_view module, function;  // as rules match them; "" any function
  std::string_view text;
  bool eachCall = false;  // each call costs, whatever it does: the time is spread over functions
};

// Null: nothing is known of that function.
[[nodiscard]] const LibraryHint* libraryHint(const ModulePath& module, std::string_view function);

// Whose samples make batches, on a CPU: the loader's, or the training thread's, which has none.
[[nodiscard]] HotQuery makers(const Evidence& e);

// Of the libraries whose time is spread over functions the one that takes the most, as the function
// of it that the program calls most; `samples` are of all that the library does.
struct SpreadLibrary {
  std::string name;
  HotFunction called;
};
[[nodiscard]] Maybe<SpreadLibrary> spreadLibrary(const Evidence& e);

}  // namespace stallprof
