// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace stallprof {

// What a file of habits says of one verb, as the words that would say the same on a command line.
struct ConfiguredWords {
  std::string file;
  std::vector<std::string> words;
};

// The files that there are, the weakest first: $XDG_CONFIG_HOME/stallprof/config.toml (default
// ~/.config), then ./stallprof.toml, else the [tool.stallprof.*] tables of ./pyproject.toml.
// STALLPROF_CONFIG names one file instead of all, or is "none". A table is a verb, a key the long
// name of one of its options; any other is an Error that names file and line, whatever verb runs.
[[nodiscard]] Result<std::vector<ConfiguredWords>> configuredWords(const std::string& verb);

}  // namespace stallprof
