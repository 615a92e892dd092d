// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "launch/setup/options.h"
#include "stallprof/command.h"

namespace stallprof {

// What `run` and `attach` both take.
class LaunchCommand : public Command {
 public:
  // What must be known before the command starts, not when it is over.
  std::string check() override;

 protected:
  void declareRecording(CLI::App& app);  // its place, the reports, the rate
  void declareOutput(CLI::App& app);     // colour and log

  LaunchOptions options_;
  std::vector<std::string> map_;

 private:
  std::string checkReports();
  std::vector<std::string> reports_;
};

}  // namespace stallprof
