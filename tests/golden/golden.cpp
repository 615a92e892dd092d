// SPDX-License-Identifier: MIT
// A text trace in, the reports out, compared with the expected ones beside it.
//
//   golden DIRECTORY           exit 1 and the first difference where one of them differs
//   golden DIRECTORY --write   rewrites them (scripts/refresh_goldens, which shows the diff)
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "advise/advise.h"
#include "analysis/analyze.h"
#include "base/fd.h"
#include "present/formats.h"
#include "tests/text_form/trace_form.h"

namespace {

using namespace stallprof;

int fail(const std::string& message) {
  std::fprintf(stderr, "golden: %s\n", message.c_str());
  return 1;
}

std::string firstDifference(const std::string& expected, const std::string& actual) {
  std::istringstream a(expected), b(actual);
  std::string left, right;
  for (int line = 1;; ++line) {
    const bool moreLeft = static_cast<bool>(std::getline(a, left));
    const bool moreRight = static_cast<bool>(std::getline(b, right));
    if (!moreLeft && !moreRight) return {};
    if (moreLeft != moreRight || left != right)
      return "line " + std::to_string(line) + "\n  expected: " + (moreLeft ? left : "(end)") +
             "\n  actual:   " + (moreRight ? right : "(end)");
  }
}

int check(const std::string& path, const std::string& actual, bool write) {
  if (write) {
    std::ofstream(path) << actual;
    return 0;
  }
  const Result<std::string> expected = readFile(path);
  if (!expected.ok()) return fail(expected.error().message);
  const std::string difference = firstDifference(expected.value(), actual);
  return difference.empty() ? 0 : fail(path + " differs at " + difference);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return fail("usage: golden DIRECTORY [--write]");
  const std::string directory = argv[1];
  const bool write = argc > 2 && std::string(argv[2]) == "--write";
  const Result<std::string> text = readFile(directory + "/trace.txt");
  if (!text.ok()) return fail(text.error().message);
  const Result<Trace> trace = parseTrace(text.value());
  if (!trace.ok()) return fail(directory + "/trace.txt: " + trace.error().message);

  Analysis analysis = analyze(trace.value());
  advise(analysis, "before.stallprof");
  PresentOptions options;
  options.recording = "before.stallprof";
  int status = 0;
  for (const char* format : {"text", "json"}) {
    const Result<ReportFormat> form = reportFormat(format);
    if (!form.ok()) return fail(form.error().message);
    const std::string name = std::string(format) == "text" ? "report.txt" : "report.json";
    status |= check(directory + "/" + name, form.value().write(analysis, options), write);
  }
  return status;
}
