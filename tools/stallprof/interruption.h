// SPDX-License-Identifier: MIT
#pragma once

// A signal that asks this process to end, while it has something to print first.
namespace stallprof {

// From now on the first of them is noted, but for those that our caller had ignored; another one, a
// second and more later, ends this process.
void noteInterruption();
// Its number; 0: none came.
[[nodiscard]] int interruption();
// Ends this process by it; nothing where none came.
void endByInterruption();

}  // namespace stallprof
