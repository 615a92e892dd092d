// SPDX-License-Identifier: MIT
#include "present/exporter.h"

#include "base/text.h"
#include "present/report_html.h"
#include "present/report_json.h"
#include "present/report_markdown.h"
#include "present/report_text.h"

namespace stallprof {
namespace {

using Writer = std::string (*)(const Analysis&, const PresentOptions&);

class Report final : public Exporter {
 public:
  Report(std::string_view name, Writer writer, const Analysis& analysis,
         const PresentOptions& options)
      : name_(name), writer_(writer), analysis_(analysis), options_(options) {}
  std::string_view name() const override { return name_; }
  void write(std::ostream& out) const override { out << writer_(analysis_, options_); }

 private:
  std::string_view name_;  // a literal
  Writer writer_;
  const Analysis& analysis_;
  const PresentOptions& options_;
};

}  // namespace

Result<std::unique_ptr<Exporter>> makeExporter(std::string_view format, const Analysis& analysis,
                                               const PresentOptions& options) {
  const auto make = [&](std::string_view word, Writer writer) -> std::unique_ptr<Exporter> {
    return std::make_unique<Report>(word, writer, analysis, options);
  };
  if (format == "text") return make("text", reportText);
  if (format == "json")
    return make("json", [](const Analysis& a, const PresentOptions&) { return reportJson(a); });
  if (format == "md") return make("md", reportMarkdown);
  if (format == "html") return make("html", reportHtml);
  return Error{Error::Kind::kUsage,
               inQuotes(format, 64) + " is not a report format: text, json, md, html"};
}

}  // namespace stallprof
