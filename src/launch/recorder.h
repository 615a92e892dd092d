// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <string>

#include "launch/control.h"
#include "launch/witness.h"
#include "recording/manifest.h"

namespace stallprof {

struct RecorderPlan {
  std::string directory;  // absolute
  Manifest manifest;
  unsigned hz = 100;
  std::string noHook;        // why the Python hook is not injected; empty: it is
  bool python = true;        // read Python stacks
  bool native = true;        // sample native code
  bool counters = false;     // count the CPUs' events
  std::string noAgent;       // why the GPU agent is not injected; empty: it is
  std::string noNvtx;        // why NVTX ranges are not seen; empty: they are
  bool agent = true;         // there is an agent to inject: make the memory it writes to
  std::string keepActivity;  // a file for all that is drained from it; empty: none
  bool attached = false;     // the command runs already: nothing was put into it
  Nanos progressEvery{};     // tell the front how the run goes; 0: never
};

// The recorder: a process of its own beside the front, so that nothing it meets reaches the job. It
// blocks every signal, holds nothing of the caller's open, watches and writes until the front says
// that the command ended. Without a front it goes on until the command's own process ends.
// Called in the forked child; ends the process.
[[noreturn]] void runRecorder(RecorderPlan plan, Control control, const Witness& witness);

}  // namespace stallprof
