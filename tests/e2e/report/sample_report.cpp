// SPDX-License-Identifier: MIT
// sample_report NAME FORMAT: a report of one of the unit tests' made-up analyses, on stdout; of a
// trace in its text form where NAME ends in .txt.
#include <iostream>
#include <map>

#include "advise/advise.h"
#include "base/fd.h"
#include "present/formats.h"
#include "present/html/picture/picture.h"
#include "tests/text_form/trace_form.h"
#include "tests/unit/present/sample_analysis.h"

namespace {

using namespace stallprof;

int fail(const std::string& message) {
  std::cerr << "sample_report: " << message << "\n";
  return 2;
}

int print(const std::string& format, const Analysis& analysis, const PresentOptions& options) {
  const Result<ReportFormat> form = reportFormat(format);
  if (!form.ok()) return fail(form.error().message);
  std::cout << form.value().write(analysis, options);
  return std::cout.flush() ? 0 : 1;
}

int printTrace(const std::string& path, const std::string& format, PresentOptions& options) {
  const Result<std::string> text = readFile(path);
  if (!text.ok()) return fail(text.error().message);
  const Result<Trace> trace = parseTrace(text.value());
  if (!trace.ok()) return fail(trace.error().message);
  Analyzed analyzed = analyzeWithFacts(trace.value());
  advise(analyzed.analysis, options.recording);
  const Picture picture = draw(trace.value(), analyzed, RuleTable::builtIn());
  options.picture = &picture;
  return print(format, analyzed.analysis, options);
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, Analysis (*)()> samples = {
      {"nothing", samples::nothing}, {"input_bound", samples::inputBound},
      {"healthy", samples::healthy}, {"no_steps", samples::noSteps},
      {"damaged", samples::damaged}, {"tied", samples::tied},
      {"hostile", samples::hostile}};
  if (argc < 3) return fail("usage: sample_report NAME|FILE.txt FORMAT");
  const std::string name = argv[1];
  PresentOptions options;
  options.recording = "run.stallprof";
  if (name.ends_with(".txt")) return printTrace(name, argv[2], options);
  if (samples.count(name) == 0) return fail("no sample of that name");
  return print(argv[2], samples.at(name)(), options);
}
