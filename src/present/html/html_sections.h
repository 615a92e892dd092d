// SPDX-License-Identifier: MIT
#pragma once

#include "present/html/html_parts.h"
#include "present/words/present_options.h"

// The sections of the HTML report, from top to bottom. Each writes itself whole, or nothing where
// it has nothing to say.
namespace stallprof {

// The style sheet of the report: light, dark, narrow, print. The colours of phases are set once.
[[nodiscard]] Literal reportStyle();

// The gain of advice `index` of a finding, with the path of its number in the JSON report.
void gainFigure(Html& html, const Analysis& a, const Finding& f, std::size_t index);

// What its trials measured, likewise.
void measuredFigure(Html& html, const Analysis& a, const Finding& f, std::size_t index);

void headSection(Html& html, const Analysis& a);
void verdictSection(Html& html, const Analysis& a, const PresentOptions& options);
void timeSection(Html& html, const Analysis& a);
void findingsSection(Html& html, const Analysis& a);
void stepsSection(Html& html, const Analysis& a, const Picture& picture);
void laneSection(Html& html, const Picture& picture);
void resourcesSection(Html& html, const Analysis& a, const Picture& picture);
void deviceSection(Html& html, const Analysis& a);
void stacksSection(Html& html, const Analysis& a, const Picture& picture);
void nativeSection(Html& html, const Analysis& a);
void whatIfSection(Html& html, const Analysis& a);
void tuningSection(Html& html, const Analysis& a);
void epochsSection(Html& html, const Analysis& a);
void trainersSection(Html& html, const Analysis& a);
void filesSection(Html& html, const Picture& picture);
void environmentSection(Html& html, const Analysis& a, const PresentOptions& options);
void coverageSection(Html& html, const Analysis& a);

}  // namespace stallprof
