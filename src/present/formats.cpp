// SPDX-License-Identifier: MIT
#include "present/formats.h"

#include "base/text.h"
#include "present/html/report_html.h"
#include "present/metrics/report_json.h"
#include "present/words/report_markdown.h"
#include "present/words/report_text.h"

namespace stallprof {

std::span<const ReportFormat> reportFormats() {
  static constexpr ReportFormat kFormats[] = {
      {"text", reportText},
      {"json", [](const Analysis& a, const PresentOptions&) { return reportJson(a); }},
      {"md", reportMarkdown},
      {"html", reportHtml},
  };
  return kFormats;
}

Result<ReportFormat> reportFormat(std::string_view name) {
  std::string names;
  for (const ReportFormat& format : reportFormats()) {
    if (format.name == name) return format;
    names += (names.empty() ? "" : ", ") + std::string(format.name);
  }
  return Error{Error::Kind::kUsage, inQuotes(name, 64) + " is not a report format: " + names};
}

}  // namespace stallprof
