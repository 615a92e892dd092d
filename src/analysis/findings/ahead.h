// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "analysis/findings/evidence.h"

// What changes gain to data that no known loader makes: no fetch is timed, so there is nothing to
// replay, only shares of the window and the CPU in use. All are assumptions (`assuming`): the text
// says which. Null where the job's CPU was not measured, as the same work has to fit the same
// cores; and where others make the data, on cores that the step needs too, and it waits for little
// of it.
namespace stallprof {

// Who makes data beside the step: a thread waits its turn for the interpreter's lock, a process
// hands each batch over.
enum class Beside : std::uint8_t { kThread, kProcess };

// The training thread makes its data itself, in `share` of the window. Likely: one of `who` makes
// them; largest: as many as idle cores let.
[[nodiscard]] Prediction madeBeside(const Evidence& e, double share, Beside who);

// The training thread waits for the step's results in `awaited` of the window before it makes the
// next batch, in `share`. Likely: what computes them does so meanwhile; largest: as the cores let.
[[nodiscard]] Prediction madeMeanwhile(const Evidence& e, double share, double awaited);

// False where both the step and what makes the data, in `share` of the window, want the
// interpreter's lock: a thread keeps it for 5 ms (sys.getswitchinterval()) while the step waits for
// it after each operator, and a batch that takes less is made at one go.
[[nodiscard]] bool threadGains(const Evidence& e, double share);

// Others make the data, and the step waits for those in `share` of the window: they set the pace.
// Likely `times` as many make as many times the batches; largest: as many as idle cores let. `who`
// completes "twice as many ... twice as many batches": "threads make".
[[nodiscard]] Prediction moreAtOnce(const Evidence& e, double share, int times,
                                    const std::string& who);

// What makes data in `share` of the window is scaled; null where the step waits for none of it.
// `assumes`: why.
[[nodiscard]] Prediction scaledAhead(const Evidence& e, double share, double likely, double minimum,
                                     double maximum, std::string assumes);

}  // namespace stallprof
