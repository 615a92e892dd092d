// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>
#include <vector>

#include "classify/rule_table.h"
#include "trace/trace.h"

namespace stallprof {

// What a stack says, whatever its thread was seen doing.
struct StackLabel {
  const PhaseRule* rule = nullptr;      // null: no frame is claimed
  StackId claimed;                      // the frame the rule claims
  StackId hot;                          // the innermost frame
  StackId python;                       // the innermost Python frame; differs where `hot` is native
  StackId user;                         // the innermost frame of the user's own code; may be none
  StackId update;                       // the outermost frame that updates a model; may be none
  bool fetches = false;                 // a frame of it gets a loader's next batch
  bool gradient = false;                // a frame of it takes a gradient
  const PhaseRule* handover = nullptr;  // of its innermost claimed frame, where that takes what
                                        // others hand over
  Side side = Side::kTrainer;           // for whom it works at its innermost frame
  // What of the frames further in the rule covers.
  PhaseRule::Covers covered = PhaseRule::Covers::kNothing;

  // The innermost Python frame is the user's own line: no library's Python is below it.
  [[nodiscard]] bool usersLine() const { return !user.none() && user == python; }
};

// What one sample of a thread means, and the rule that says so.
struct SampleLabel {
  Phase phase = Phase::kUnknown;
  OverheadKind overhead = OverheadKind::kNone;
  std::string_view rule;
};

// Labels of all stacks of a trace. The table must outlive it.
//
// Of a stack the innermost frame that a rule claims decides, unless a claimed frame further out
// covers it, or a frame that sets the context lies between; a rule of phase "work" leaves it to a
// claimed library frame further out, if none of the user's own lies between. A native leaf decides
// where the claimed Python frame lies outside the user's own innermost frame, or there is none.
class StackLabels {
 public:
  StackLabels(const Trace& trace, const RuleTable& table);

  // Of a thread that works for `role` at its outermost frame. none: an empty label of that side.
  [[nodiscard]] const StackLabel& of(StackId stack, Side role) const;

  // A sample that found the thread in `wait` with a stack labelled so. Where it was blocked on a
  // file or a socket, that decides, unless the rule claims waits too, or is neither extract nor
  // transform; where the wait says nothing, the stack does. An event loop with connections open
  // waits for the network where the program's own code runs it.
  [[nodiscard]] static SampleLabel sample(const StackLabel& label, Wait wait, bool gc);

 private:
  std::vector<StackLabel> trainer_, producer_;  // index = StackId - 1
};

}  // namespace stallprof
