// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace stallprof {

// Whose code a file is, and its name within its library.
struct ModulePath {
  std::string path;   // "PIL/Image.py", "json/decoder.py"; of the user's own code as it was seen
  bool users = true;  // false: installed packages, the standard library, frozen modules
};
[[nodiscard]] ModulePath modulePathOf(std::string_view file);

// `*` stands for any run of characters; all else for itself.
[[nodiscard]] bool fitsPattern(std::string_view text, std::string_view pattern);
[[nodiscard]] bool fitsAny(std::string_view text, std::span<const std::string_view> patterns);

// A module pattern: "PIL/Image.py" a file, "torch/optim/" all files below. Of installed code the
// whole path must fit; of the user's own, its end at a directory's boundary.
[[nodiscard]] bool fitsModule(const ModulePath& module, std::string_view pattern);

// A function pattern: "Tensor.backward" fits itself, and as the end of a longer qualified name;
// a frame that knows no qualified name (CPython before 3.11) fits by its last part.
[[nodiscard]] bool fitsFunction(std::string_view function, std::string_view pattern);

// "libjpeg.so.62" of "/usr/lib/x86_64-linux-gnu/libjpeg.so.62".
[[nodiscard]] std::string_view baseName(std::string_view path);

}  // namespace stallprof
