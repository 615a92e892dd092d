// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "present/words/present_options.h"

namespace stallprof {

// A form of the report. `write` is pure and returns the whole of it.
struct ReportFormat {
  std::string_view name;  // the word after --format
  std::string (*write)(const Analysis&, const PresentOptions&);
};

[[nodiscard]] std::span<const ReportFormat> reportFormats();
// The format of that name; kUsage for another word.
[[nodiscard]] Result<ReportFormat> reportFormat(std::string_view name);

}  // namespace stallprof
