// SPDX-License-Identifier: MIT
// sample_report NAME FORMAT: a report of one of the unit tests' made-up analyses, on stdout.
#include <iostream>
#include <map>

#include "present/exporter.h"
#include "tests/unit/present/sample_analysis.h"

int main(int argc, char** argv) {
  using namespace stallprof;
  const std::map<std::string, Analysis (*)()> samples = {
      {"nothing", samples::nothing}, {"input_bound", samples::inputBound},
      {"healthy", samples::healthy}, {"no_steps", samples::noSteps},
      {"damaged", samples::damaged}, {"tied", samples::tied},
      {"hostile", samples::hostile}};
  if (argc < 3 || samples.count(argv[1]) == 0) return 2;
  const Analysis analysis = samples.at(argv[1])();
  PresentOptions options;
  options.recording = "run.stallprof";
  const auto exporter = makeExporter(argv[2], analysis, options);
  if (!exporter.ok()) return 2;
  exporter.value()->write(std::cout);
  return std::cout.flush() ? 0 : 1;
}
