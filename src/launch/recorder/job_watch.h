// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "event/event_out.h"
#include "launch/setup/options.h"
#include "recording/memory/ring.h"
#include "sampler/sampler_loop.h"

namespace stallprof {

// Every sampler of a run, made for one command, in a loop that calls them: the only file of the
// launcher that knows them by name.
class JobWatch {
 public:
  // `attachedAt`: the command runs already, and nothing is known of it before; 0: it is held.
  // `options` must outlive this.
  JobWatch(pid_t command, const LaunchOptions& options, Nanos attachedAt);
  ~JobWatch();

  // The job has the hook of this directory, and this path of the event memory: says where it is not
  // loaded or cannot reach that. An empty path: it has none.
  void expectHook(const std::string& events, const std::string& directory);
  // While the command is still held: opens the inherited task events on it, and samples it once.
  // Where it runs already: what can be opened on every thread that it has by now.
  void arm(EventOut& out);
  [[nodiscard]] SamplerLoop& loop();
  // After loop().finish(), for half a second at most: the names of the native code that was
  // sampled.
  void nameNative(Nanos now, EventOut& out) const;

  [[nodiscard]] EventMemory::Identities identities();
  // Processes of the job still running, the command's own not counted.
  [[nodiscard]] std::int64_t outlived() const;

 private:
  struct Parts;
  void open();
  void openRunning();
  void armWithoutProc(EventOut& out);
  std::unique_ptr<Parts> parts_;
  const LaunchOptions& options_;
  Nanos attachedAt_;
};

}  // namespace stallprof
