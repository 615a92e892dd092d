// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "launch/process/control.h"
#include "launch/process/witness.h"
#include "launch/setup/options.h"
#include "recording/manifest.h"

namespace stallprof {

// What the recorder has to do: what the user asked for, and what is known of the command.
struct RecorderPlan {
  LaunchOptions options;
  std::string directory;  // of the recording; absolute
  Manifest manifest;
  bool attached = false;     // the command runs already: nothing was put into it
  bool agent = false;        // there is an agent to inject: make the memory it writes to
  std::string noHook;        // why the Python hook is not injected; empty: it is
  std::string noAgent;       // why the GPU agent is not injected; empty: it is
  std::string noNvtx;        // why NVTX ranges are not seen; empty: they are
  std::string keepActivity;  // a file for all that is drained from it; empty: none
};

// The recorder: a process of its own beside the front, so that nothing it meets reaches the job. It
// blocks every signal, holds nothing of the caller's open, watches and writes until the front says
// that the command ended. Without a front it goes on until the command's own process ends.
// Called in the forked child; ends the process.
[[noreturn]] void runRecorder(RecorderPlan plan, Control control, const Witness& witness);

}  // namespace stallprof
