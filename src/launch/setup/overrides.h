// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/text.h"

namespace stallprof {

// How the hook is given its part of what is below: lines of NAME=VALUE.
inline constexpr char kOverridesVariable[] = "STALLPROF_OVERRIDES";

// Set for a `run` whose starter ends what the command leaves running: to the seconds after which a
// command that does not end by the TERM after its steps gets KILL; 0: none.
inline constexpr char kSupervisedVariable[] = "STALLPROF_SUPERVISED";

// What `run` changes in the command from outside; nothing, unless it was asked for. What cannot be
// applied is an error, never left out: the run would be taken for one with the change.
struct Overrides {
  // Of PyTorch's loaders and optimizers, of tf.data's pipelines and of Keras' PyDatasets, by the
  // names that those give them, each once; values as parseSetting() makes them.
  std::vector<std::pair<std::string, std::string>> settings;
  std::string loaderAt;          // FILE:LINE of the one that is changed; empty: each that is made
  unsigned threads = 0;          // of each pool of native threads; 0: as the program has it
  std::vector<std::string> env;  // NAME=VALUE
  unsigned replay = 0;           // batches that are given again and again; 0: the loader's own
  unsigned drain = 0;            // seconds of the loader alone; 0: the training
  // The command is sent TERM after so many steps, or so many seconds after its first; 0: never. Of
  // a replay since it began.
  unsigned steps = 0, seconds = 0;
  // Those are counted from the first step of an optimizer; a drain is of a loader that is read with
  // gradients on, not of an evaluation within no_grad().
  bool fromUpdate = false;

  [[nodiscard]] bool any() const { return needHook() || threads > 0 || !env.empty() || ends(); }
  // The hook has to do it.
  [[nodiscard]] bool needHook() const { return !settings.empty() || replay > 0 || drain > 0; }
  [[nodiscard]] bool ends() const { return steps > 0 || seconds > 0; }
};
// `--count-from` with this: `fromUpdate`.
inline constexpr char kFromUpdate[] = "optimizer-step";
// What the hook reports when a replay, or the loader alone, begins.
inline constexpr std::string_view kReplaySetting = "replay", kDrainSetting = "drain";

// "num_workers=4" as a name and the value that the hook expects: a whole number, "true", "false" or
// "auto".
// The Error says which names there are, and which values that one takes.
[[nodiscard]] Result<std::pair<std::string, std::string>> parseSetting(std::string_view word);
// The Error says what is wrong with a word of `--env`.
[[nodiscard]] Status checkVariable(std::string_view word);

// `environment` with what the command's is to have: variables, thread pools, the hook's part.
[[nodiscard]] std::vector<std::string> withOverrides(const std::vector<std::string>& environment,
                                                     const Overrides& overrides);

// What the hook reports of when it has changed it.
[[nodiscard]] std::vector<std::string> namesOf(const Overrides& overrides);

// As options of `run`, for the manifest: secrets masked.
[[nodiscard]] std::vector<Untrusted> wordsOf(const Overrides& overrides);

}  // namespace stallprof
