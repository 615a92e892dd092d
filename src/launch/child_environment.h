// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stallprof {

inline constexpr char kEventsVariable[] = "STALLPROF_EVENTS";        // as in event_memory.h
inline constexpr char kRecordingVariable[] = "STALLPROF_RECORDING";  // the recording's directory
inline constexpr char kDisableVariable[] = "STALLPROF_DISABLE";      // 1: run is a plain exec

struct Injection {
  std::string hookDirectory;  // empty: no Python hook
  std::string events;         // empty: no event memory
  std::string recording;      // absolute
};

// `environment` ("NAME=value" words, kept in order and byte for byte) with our variables added.
// What an earlier run of ours left behind is replaced, so nested runs never pile up.
[[nodiscard]] std::vector<std::string> withInjection(const std::vector<std::string>& environment,
                                                     const Injection& injection);

// The words of `environ`, and one value of them (empty when not set).
[[nodiscard]] std::vector<std::string> currentEnvironment();
[[nodiscard]] std::string_view valueOf(const std::vector<std::string>& environment,
                                       std::string_view name);

// Where the hook is: ../lib/stallprof/hook beside our binary's directory, in a prefix as in a build
// tree. An Error says why it cannot be used: a directory that others may write to would be code of
// theirs inside the training, and PYTHONPATH cannot hold a ':'.
[[nodiscard]] Result<std::string> findHook();
[[nodiscard]] Status checkHook(const std::string& directory);

}  // namespace stallprof
