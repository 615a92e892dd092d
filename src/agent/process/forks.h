// SPDX-License-Identifier: MIT
#pragma once

namespace stallprof::agent {

// Makes a forked child forget what belongs to its parent: the slot of the event memory, the area
// of the activity memory, CUPTI. Once a process, from whichever entry point comes first.
void guardForks();

}  // namespace stallprof::agent
