// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stallprof {

inline constexpr char kEventsVariable[] = "STALLPROF_EVENTS";        // as in event_memory.h
inline constexpr char kRecordingVariable[] = "STALLPROF_RECORDING";  // the recording's directory
inline constexpr char kDisableVariable[] = "STALLPROF_DISABLE";      // 1: run is a plain exec
inline constexpr char kActivityVariable[] = "STALLPROF_ACTIVITY";    // as in activity_memory.h
// For who develops stallprof: a file for what the agents handed over, as it came.
inline constexpr char kKeepActivityVariable[] = "STALLPROF_KEEP_ACTIVITY";
// What CUDA's driver and the NVTX headers load; one agent answers to both.
inline constexpr char kCudaVariable[] = "CUDA_INJECTION64_PATH";
inline constexpr char kNvtxVariable[] = "NVTX_INJECTION64_PATH";

struct Injection {
  std::string hookDirectory;  // empty: no Python hook
  std::string events;         // empty: no event memory
  std::string recording;      // absolute
  std::string agent{};        // the agent's library; empty: no GPU agent
  std::string activity{};     // empty: no activity memory, so the agent is for NVTX alone
};

// `environment` ("NAME=value" words, kept in order and byte for byte) with our variables added.
// What an earlier run of ours left behind is replaced, so nested runs never pile up. An injection
// variable that names another tool's library stays as it is.
[[nodiscard]] std::vector<std::string> withInjection(const std::vector<std::string>& environment,
                                                     const Injection& injection);

// From a program with file capabilities the loader takes LD_LIBRARY_PATH, LD_PRELOAD, TMPDIR and
// others before main. The command has no such capabilities and is to have them: makes `environ`
// what the kernel gave. Not of a program of another user's or group's rights, which the command
// has, too.
void restoreEnvironment();

// The words of `environ`, and one value of them (empty when not set).
[[nodiscard]] std::vector<std::string> currentEnvironment();
[[nodiscard]] std::string_view valueOf(const std::vector<std::string>& environment,
                                       std::string_view name);
// The words of a file of a process, each ended by a zero byte: "cmdline" or "environ".
[[nodiscard]] Result<std::vector<std::string>> wordsOfProcess(pid_t pid, const char* file);
// An outer stallprof records who has this environment, if its event memory can still be reached. An
// environment that a launcher carried to another host names what is none, or another run's.
[[nodiscard]] bool isRecorded(const std::vector<std::string>& environment);

// Where the hook is: ../lib/stallprof/hook beside our binary's directory, in a prefix as in a build
// tree. An Error says why it cannot be used: a directory that others may write to would be code of
// theirs inside the training, and PYTHONPATH cannot hold a ':'. Who may write `program`, ours, may
// write there too.
[[nodiscard]] Result<std::string> findHook();
[[nodiscard]] Status checkHook(const std::string& directory,
                               const std::string& program = "/proc/self/exe");

// Where the agent is, by the same rules: ../lib/stallprof/libstallprof_agent.so.
[[nodiscard]] Result<std::string> findAgent();
[[nodiscard]] Status checkAgent(const std::string& file);
// The injection variables that the user has given to another tool, as words for a person: "" none,
// else "CUDA_INJECTION64_PATH is another tool's (/opt/nsight/libToolsInjection64.so)". Empty and
// "none" count as unset, and so does an agent of an earlier run of ours.
[[nodiscard]] std::string foreignInjection(const std::vector<std::string>& environment,
                                           std::string_view variable);

}  // namespace stallprof
