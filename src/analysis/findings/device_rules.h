// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/findings/rules.h"

// What the findings about devices share.
namespace stallprof {

// A finding that rests on the devices' timeline: less sure where it is of a part of the window.
[[nodiscard]] Finding deviceFinding(const Evidence& e, const char* id, Phase phase, double share,
                                    std::string title);

// What a change takes off: of the trainer's own step, of its standing in copies, and of the
// device's own work; as shares of the window. A step never gets shorter than the device's work in
// it.
struct Saved {
  double own = 0, standing = 0, device = 0;
};
[[nodiscard]] Prediction predictSaved(const Evidence& e, const Saved& likely, const Saved& least,
                                      const Saved& most);

// Names the line that most looks in `site` were at; `where` joins share and name.
void pointAt(const Evidence& e, const CallSite& site, const char* where, Finding& f);

// A batch twice as large, where the devices' memory has room for it.
[[nodiscard]] Maybe<Advice> largerBatch(const Evidence& e, const Saved& likely, const Saved& least,
                                        const Saved& most);

// No prediction of a change that leaves the device's work as it is may be faster than that work.
void boundByDevice(const Evidence& e, std::vector<Finding>& findings);

}  // namespace stallprof
