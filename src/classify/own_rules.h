// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string_view>

namespace stallprof {

// The rules that are no match of names but of other evidence: what a sample gets where no rule of
// the table claims its stack. For `explain --rule`.
struct OwnRule {
  std::string_view id, phase, note;
};
[[nodiscard]] std::span<const OwnRule> ownRules();

// A rule of the table that findings ask for: what the program's samplers take.
inline constexpr std::string_view kDrawsIndices = "torch.indices";
// One that says that a thread waits for work that it gave away: what that is for it does not say.
inline constexpr std::string_view kAsksPool = "python.pool_wait";
inline constexpr std::string_view kSelects = "python.event_loop";
inline constexpr std::string_view kOwnProgram = "python.subprocess";
inline constexpr std::string_view kTorchLoad = "torch.load";
// One whose answers may be trained on.
inline constexpr std::string_view kAwaitsJax = "jax.block";
inline constexpr std::string_view kPredicts = "keras.predict";
// One that says that a thread only waits for the end of others.
inline constexpr std::string_view kJoinsThread = "python.thread_join";

// One that the user's own classes get, too, by their names.
inline constexpr std::string_view kEnvironment = "environment";

// Of a wait that its call alone names.
inline constexpr std::string_view kAsleep = "wait.sleep";
inline constexpr std::string_view kAwaitsNetwork = "wait.event_loop";

inline constexpr std::string_view kOwnProducer = "own.producer";
inline constexpr std::string_view kOwnTrainer = "own.trainer";
inline constexpr std::string_view kOwnData = "own.data_function";
inline constexpr std::string_view kOwnEvaluation = "own.evaluation";
inline constexpr std::string_view kOwnWriting = "own.writing";
inline constexpr std::string_view kOwnPause = "own.pause";
inline constexpr std::string_view kOwnAfterUpdate = "own.after_update";
inline constexpr std::string_view kOwnRelease = "own.batch_release";
inline constexpr std::string_view kUnknownLine = "own.unknown_line";
inline constexpr std::string_view kOwnCollective = "own.collective";
inline constexpr std::string_view kNoFrame = "own.no_frame";
inline constexpr std::string_view kCollecting = "gc.collecting";

}  // namespace stallprof
