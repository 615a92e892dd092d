// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "present/words/present_options.h"

// The sentences and rows of a report, before any layout: text and Markdown say the same because
// they say this. Strings may hold bytes from the job; every sink escapes what it writes.
namespace stallprof {

struct ShareRow {
  std::string name;  // as shown: "waiting for data"
  char glyph = '#';  // in the bar
  double ratio = 0;
  std::string note;  // what it is, in a few words; may be empty
};

struct FindingRow {
  const Finding* finding = nullptr;
  std::string share;       // "38 %", or "24 % (in 1)" inside another finding
  std::string gain;        // "1.42x - 1.61x", "up to 1.61x", "1.50x measured"
  std::string confidence;  // "high"
  bool minor = false;      // predicted below 3 % and not tried: named, not unfolded
};

// The words of the command, quoted for a shell; of a long command the first 4 KiB, which is more
// than any page shows.
[[nodiscard]] std::string commandText(const RunInfo& run);
// "train.py:88", "decode() in aug.py:12"; empty when nothing is known.
[[nodiscard]] std::string lineText(const SourceLine& line);
// "train.py:8", without folders: all lines of a loop are of one file, which the report names
// elsewhere. Of a library its place in it: "trainer.py" alone may be anybody's.
[[nodiscard]] std::string shortPlace(const SourceLine& line);

[[nodiscard]] std::vector<std::string> headline(const Analysis& a);  // tool, command, host, ...
// What was lost, as a reader who does not know our names for it wants it; the JSON report has
// those.
[[nodiscard]] std::string lossText(const std::string& name, std::uint64_t count);
// What the recording does not hold: its end, damaged and unwritten parts.
[[nodiscard]] std::vector<std::string> incomplete(const Analysis& a);
// These, a failed command, and the caveats.
[[nodiscard]] std::vector<std::string> warnings(const Analysis& a);
// "1 of 2 cores", and how many there were in the window where that differs; empty: unknown.
[[nodiscard]] std::string coresText(const Analysis& a);
// Without steps, what the shares are of: "of the loop at train.py:20", "of the whole run" where
// `loop` is empty.
[[nodiscard]] std::string scopeText(const std::string& loop);
// What shares are of: "of the window", or the same.
[[nodiscard]] std::string windowText(const Breakdown& b);
[[nodiscard]] std::string boundText(const Analysis& a);  // where there is a verdict
// The verdict in parts, for whoever sets them apart; `verdictText` is their one sentence.
struct VerdictParts {
  enum class Kind : std::uint8_t { kHealthy, kWithheld, kBound };
  Kind kind = Kind::kWithheld;
  std::string headline;      // "Transform-bound", "No verdict"
  std::string reason{};      // the first finding's title; a clause: why there is no verdict;
                             // "compute-bound", of a healthy run. May be empty
  std::string gain{};        // a sentence, or empty
  bool secondAlike = false;  // the second finding weighs about the same
};
[[nodiscard]] VerdictParts verdictParts(const Analysis& a);
[[nodiscard]] std::string verdictText(const Analysis& a);
[[nodiscard]] std::string noVerdictReason(const NoVerdict& reason);  // a clause
[[nodiscard]] std::string slowdownText(const Slowdown& slowdown);
[[nodiscard]] std::vector<std::string> captureParts(const Analysis& a);  // steps, cost, losses
[[nodiscard]] std::string stepTimeText(const StepsInfo& steps);
[[nodiscard]] std::vector<std::string> useParts(const Analysis& a);  // the utilisation line

// Parts that sum to 1, largest meaning first; empty where not measured. Zero parts are left out,
// but never `other` and `unknown`.
[[nodiscard]] std::vector<ShareRow> trainerShares(const Breakdown& b);
[[nodiscard]] std::vector<ShareRow> phaseShares(const Breakdown& b);
[[nodiscard]] std::vector<double> ratiosOf(const std::vector<ShareRow>& shares);
// Of compute and of waiting for data, rounded with the other shares as the legend has them: one
// number is one text. Empty where not measured.
struct TrainerTexts {
  std::string compute, wait, other;
};
[[nodiscard]] TrainerTexts trainerTexts(const Breakdown& b);
// "38 % waiting for data, blamed on transform 26 %", ...; empty when there is no wait or no blame.
[[nodiscard]] std::vector<std::string> blameParts(const Breakdown& b);

// The first change whose gain could be predicted and that no trial refuted; null: none.
[[nodiscard]] const Advice* predictedAdvice(const Finding& finding);
// Its prediction; all null where there is none.
[[nodiscard]] Prediction predictionOf(const Finding& finding);
// "1.42x - 1.61x"; one number where there is no interval; "up to 1.61x" of an assumed one; "not
// predicted" where there is none.
[[nodiscard]] std::string gainText(const Prediction& predicted);
// The number that stands for it: of an assumed one the largest.
[[nodiscard]] Maybe<double> shownSpeedup(const Prediction& predicted);
// What trials of the change measured: "1.62x (1.55x - 1.70x)", "no gain: 1.00x ..." where that is
// what they say; "": it was not tried.
[[nodiscard]] std::string measuredText(const Advice& advice);
[[nodiscard]] bool anyMeasured(const Analysis& a);
// "Fixing it is predicted to make the run ... as fast.", or could, assuming what; "" where nothing
// is predicted.
[[nodiscard]] std::string fixText(const Finding& finding);
// "1.42x - 1.61x", or "up to 1.61x, if ..."
[[nodiscard]] std::string gainAndBasis(const Prediction& predicted);
// The same after "predicted ", or "not predicted".
[[nodiscard]] std::string predictedText(const Prediction& predicted);
[[nodiscard]] std::vector<FindingRow> findingRows(const Analysis& a);
[[nodiscard]] std::string tieText(const Analysis& a);  // empty: no ties
[[nodiscard]] std::string adviceText(const Advice& advice);

[[nodiscard]] std::string gapText(const Ceiling& ceiling);  // "+92 %": above the pace now
[[nodiscard]] std::string epochText(const EpochInfo& epoch);
// Of two or more, in one line: "12 epochs of 1.2 s to 1.6 s and 235 steps, waiting for data 19 %".
[[nodiscard]] std::string epochsText(const std::vector<EpochInfo>& epochs);
[[nodiscard]] std::string trainerName(const TrainerInfo& trainer);  // "rank 1 (attempt 2)"
[[nodiscard]] std::string trainerText(const TrainerInfo& trainer);
[[nodiscard]] std::string costText(const Cost& cost);
[[nodiscard]] std::string loaderText(const LoaderInfo& loader);
[[nodiscard]] std::vector<std::string> nextCommands(const Analysis& a,
                                                    const PresentOptions& options);

}  // namespace stallprof
