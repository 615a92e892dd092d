// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/trace.h"

namespace stallprof {

// Native functions as the last frames of stacks: "libjpeg.so.62:decode_mcu".
class NativeFrames {
 public:
  explicit NativeFrames(const Trace& trace);

  // `samples` of a stack, split by the native samples under it as nearly as whole numbers allow; a
  // share with an empty name is Python's own. One share of all where there is no native sample.
  [[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> split(
      StackId stack, std::uint64_t samples) const;
  // The samples of a thread that has no stack of its own, by the one that submitted its work (none:
  // not known) and function.
  using Alone = std::map<std::pair<StackId, std::string>, std::uint64_t>;
  [[nodiscard]] Alone alone(const ThreadLife& thread) const;

 private:
  using Place = std::pair<StringId, StringId>;  // file, function
  [[nodiscard]] std::string nameOf(const Place& place) const;
  [[nodiscard]] bool spins(const Place& place) const;  // for nobody's sake

  const Trace& trace_;
  std::unordered_map<StackId, std::map<Place, std::uint64_t>> under_;
};

}  // namespace stallprof
