// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "sampler/proc/file_log.h"
#include "sampler/processes/process_tree.h"

namespace stallprof {

// Files that the job holds open for reading, found without waiting for anybody to block in them:
// reads from the page cache never block, and what kind of file system they come from must be known
// all the same. A few processes and descriptors a second, in turn; less often where these have very
// many descriptors, as all of a process are listed.
class OpenFiles {
 public:
  OpenFiles(std::string root, FdClassifier& classifier, FileLog& files)
      : root_(std::move(root)), classifier_(classifier), files_(files) {}
  // Once a second.
  void sample(const ProcessTree& tree, Nanos now, EventOut& out);

 private:
  int inspect(const LiveProcess& process, int budget, Nanos now, EventOut& out);
  [[nodiscard]] bool forReading(std::uint32_t pid, std::uint32_t fd) const;

  std::string root_;
  FdClassifier& classifier_;
  FileLog& files_;
  std::size_t turn_ = 0;
  Nanos next_{};
};

}  // namespace stallprof
