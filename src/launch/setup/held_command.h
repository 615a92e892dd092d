// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "launch/process/inherited.h"

namespace stallprof {

// The command's process: forked, then held before exec so that the recorder can open what it needs
// on it, then released into the command.
class HeldCommand {
 public:
  struct Plan {
    std::vector<std::string> argv;
    std::vector<std::string> environment;  // with the injection
    std::vector<std::string> untouched;    // as our caller gave it
    bool only = false;                     // with what is injected, or not at all
    pid_t recorder = 0;                    // that may read its memory (Yama's scope 1)
  };
  struct Started {
    int error = 0;           // exec's errno; 0: the command runs
    bool untouched = false;  // the injection did not fit (E2BIG): started without it
  };

  // Forks. The child keeps nothing open beyond what it inherited.
  [[nodiscard]] static Result<HeldCommand> fork(const Plan& plan, const Inherited& inherited);
  [[nodiscard]] pid_t pid() const { return pid_; }
  // Lets it exec, and waits until it has or cannot.
  [[nodiscard]] Started release();

 private:
  pid_t pid_ = -1;
  Fd go_, outcome_;
};

// As exec() takes them, while `words` are there.
[[nodiscard]] std::vector<char*> pointers(const std::vector<std::string>& words);

// What `env` exits with when exec fails: 127 for ENOENT, else 126.
[[nodiscard]] int execFailureStatus(int error);
// Why it could not be executed, for the user: also what lacks where the file itself is there.
[[nodiscard]] std::string execFailureText(const std::string& command, int error);

// Replaces this process by the command as if we had never been there. Returns exec's errno.
[[nodiscard]] int execUntouched(const std::vector<std::string>& argv);

}  // namespace stallprof
