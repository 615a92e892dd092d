// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/findings/build.h"

// What the findings about devices share.
namespace stallprof {

// A finding that rests on the devices' timeline: less sure where it is of a part of the window.
[[nodiscard]] Finding deviceFinding(const Evidence& e, double share, std::string title);

// What a change takes off: of the trainer's own step, of its waiting in copies, and of the device's
// own work; as shares of the window. A step never gets shorter than the device's work in it.
struct Saved {
  double own = 0, blocking = 0, device = 0;
};
[[nodiscard]] Prediction predictSaved(const Evidence& e, const Saved& likely, const Saved& minimum,
                                      const Saved& maximum, std::string assumes);
// Which parts of what could be taken off are: an assumption.
struct SavedParts {
  double likely, minimum, maximum = 1;
};
[[nodiscard]] Prediction predictSaved(const Evidence& e, const Saved& all, const SavedParts& parts,
                                      std::string assumes);

// Names the line where most samples of `site` were; `pattern` takes their share and its name.
void pointAt(const Evidence& e, const CallSite& site, std::string_view pattern, Finding& f);

// That shares are of the traced part of the window, where they are; that the device is busy; its
// kernels a step.
void addTracedEvidence(Finding& f, const Evidence& e);
void addBusyEvidence(Finding& f, const Evidence& e);
void addKernelsEvidence(Finding& f, const Evidence& e);

// A batch twice as large, where the devices' memory has room for it. As the number of kernels stays
// the same, it either saves launches, or also fills the device (then its own work changes).
extern const AdviceDefinition kLargerBatch, kLargerBatchFillsDevice;
[[nodiscard]] Maybe<Advice> largerBatch(const Evidence& e, const AdviceDefinition& definition,
                                        const Saved& all, const SavedParts& parts,
                                        std::string assumes);

}  // namespace stallprof
