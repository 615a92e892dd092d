// SPDX-License-Identifier: MIT
// A recording whose one segment is the input, all the way: read, analysed, advised and reported. A
// replay writes each form of the report; the fuzzer one, drawn from the input's bytes, as all would
// take half of its time.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "advise/advise.h"
#include "advise/cost.h"
#include "analysis/analyze.h"
#include "present/formats.h"
#include "present/html/picture/picture.h"
#include "recording/format/crc32c.h"
#include "tests/fuzz/input_files.h"

namespace {

std::span<const stallprof::ReportFormat> formsFor(std::span<const std::uint8_t> input) {
  const std::span<const stallprof::ReportFormat> all = stallprof::reportFormats();
  return STALLPROF_FUZZING
             ? all.subspan(stallprof::crc32c(input.data(), input.size()) % all.size(), 1)
             : all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stallprof;
  if (size == 0) return 0;
  const std::string& directory = testing::recordingOf(data, size);
  FactsAccumulator facts;
  const Result<Trace> trace = facts.read(recordingEvents(directory));
  if (!trace.ok()) return 0;
  Analyzed analyzed = analyzeWithFacts(trace.value(), facts);
  advise(analyzed.analysis, directory);
  analyzed.analysis.cost = costOf(analyzed.analysis, 2.5);
  for (const ReportFormat& format : formsFor({data, size})) {
    Picture picture;
    PresentOptions options;
    if (format.name == "html") {  // no other shows it
      picture = draw(trace.value(), analyzed, RuleTable::builtIn());
      options.picture = &picture;
    }
    if (format.write(analyzed.analysis, options).empty()) std::abort();
  }
  return 0;
}
