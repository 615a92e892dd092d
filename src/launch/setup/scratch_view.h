// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace stallprof {

// A view of the file system in which a trial may write what it likes, and nothing of the user's is
// touched: in a mount namespace of its own every place that can be written to is a copy-on-write
// copy (an overlay whose upper side is in memory), and whatever cannot be one is read-only. It ends
// with the last process in it, however that ends; nothing is left behind.
//
// System directories (/usr, /etc and the like) are read-only, but for the working directory. What
// is no file is as outside: sockets that programs listen at, devices, the network.
struct ScratchView {
  std::string directory;  // absolute: the working directory; a copy, but for new files in "/"
  std::string kept;       // absolute and there: written for real, the trials' own
};

// Takes this process, of one thread, into the view, its working directory `directory`. As root in a
// mount namespace, else in a user namespace with the same user. The Error (kUnsupported) says what
// this host does not permit; the process is then to end.
[[nodiscard]] Status enterScratchView(const ScratchView& view);

}  // namespace stallprof
