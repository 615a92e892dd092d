// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "experiment/trials_file.h"
#include "recording/manifest.h"
#include "stallprof/command_line.h"
#include "stallprof/verify_runs.h"

namespace stallprof {

// A command that runs the command of a recording again and again, and writes into the recording
// what that measured: `verify` and `tune`.
class TrialCommand : public Command {
 public:
  // The words before a bare "--" are options and the recording, those after it the command.
  void parse(CLI::App& app, const std::vector<std::string>& words) override;
  std::string check() override;

 protected:
  static void number(CLI::App& app, const std::string& name, unsigned& into, unsigned minimum,
                     unsigned maximum, const char* help);
  void declareRuns(CLI::App& app);

  // The command and directory of the recording; why they cannot be had.
  std::string takeCommand(const Manifest& manifest, std::size_t loaders);
  // What was tried before; why no trials by this name may be added. What is undecided may be
  // replaced.
  [[nodiscard]] std::string takeEarlier(const std::string& name);
  // A directory for the runs: below trials/ by its `name`, or that itself. The view is tried before
  // any earlier trials go.
  Status makePlace(const std::string& name);
  // Why the recorded command is not run again and again, and it is what would be; empty: it may be.
  [[nodiscard]] std::string tooLong(const Analysis& analysis) const {
    return command_.empty() ? whyTooLong(analysis) : "";
  }
  void planRuns(const Analysis& analysis);  // also which notes there are
  // The earlier trials of other changes, and these.
  [[nodiscard]] Trials withEarlier(Trials trials) const;
  [[nodiscard]] bool decidedBefore() const;  // one of `result_`
  Status keep(const Trials& trials) const;   // the earlier runs go
  void restore() const;                      // those: nothing was kept

  // Prints the results, `text`, with notes and where to see more, also where they could not be
  // `kept`; ends by the signal that interrupted the runs. The exit status: `status`, or another.
  int end(std::string text, const Analysis& recorded, const Status& kept, int status) const;

  std::string recording_;
  VerifyPlan plan_;
  Trials result_, earlier_;
  bool force_ = false;

 private:
  std::string takeOverrides(const std::vector<Untrusted>& words, std::size_t loaders);
  void takeEnvironment(const Manifest& manifest);
  bool lock();
  Status makeView();
  [[nodiscard]] std::string allTrials() const;  // the directory
  Status setAside() const;

  std::vector<std::string> command_;
  unsigned steps_ = 0, seconds_ = 0, runs_ = 4, maximum_ = 0;
  bool inPlace_ = false;
  Fd lock_;  // of the recording, while trials are made; also held by what is left of them
  ScratchView view_;
};

}  // namespace stallprof
