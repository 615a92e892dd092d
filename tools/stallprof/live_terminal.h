// SPDX-License-Identifier: MIT
#pragma once

#include <termios.h>

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/time.h"

namespace stallprof {

// Where `top` shows itself: the whole of a terminal, restored at the end, or lines where there is
// no terminal that can do more. One object at a time.
class LiveTerminal {
 public:
  explicit LiveTerminal(bool linesOnly);
  LiveTerminal(LiveTerminal&&) = delete;
  ~LiveTerminal();

  [[nodiscard]] bool fullScreen() const { return fullScreen_; }
  [[nodiscard]] int columns() const;
  // The whole screen again, or a line. False: nobody reads any more.
  bool show(const std::vector<std::string>& screen, const std::string& line);
  // Until `until`, or sooner with true: somebody wants to leave (q, Ctrl-C, a signal).
  [[nodiscard]] bool leaveBefore(Nanos until);

 private:
  bool fullScreen_ = false;
  bool keys_ = false;  // stdin is a terminal that we may read single keys from
  termios before_{};
  Fd signals_;
};

}  // namespace stallprof
