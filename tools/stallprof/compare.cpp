// SPDX-License-Identifier: MIT
#include <cstdio>

#include "present/compare_text.h"
#include "stallprof/arguments.h"
#include "stallprof/output.h"
#include "stallprof/reading.h"

namespace stallprof {
namespace {

// The numbers of every run; the first that cannot be read is the Error.
Result<std::vector<RunNumbers>> readAll(const std::vector<std::string>& paths) {
  std::vector<RunNumbers> runs;
  for (const std::string& path : paths) {
    Result<RunNumbers> numbers = readNumbers(path);
    if (!numbers.ok()) return numbers.error();
    runs.push_back(std::move(numbers).value());
  }
  return runs;
}

int fail(const std::string& message, int status) {
  std::fprintf(stderr, "stallprof: %s\n", message.c_str());
  return status;
}

}  // namespace

int verbCompare(const Words& words) {
  std::vector<std::string> base, head = words.after;
  const auto status = parseArguments(
      "compare",
      "Two sets of runs side by side: BASE... -- HEAD..., or just BASE HEAD. Shows; never fails "
      "on a difference.",
      {{"base", "recordings or JSON reports, before and after a bare --", nullptr, &base}},
      words.before);
  if (status) return *status;
  if (!words.dashes && base.size() == 2) {
    head = {base[1]};
    base.pop_back();
  }
  if (base.empty() || head.empty())
    return fail(
        "compare takes BASE... -- HEAD..., at least one of each; see stallprof compare "
        "--help",
        2);
  const auto baseRuns = readAll(base), headRuns = readAll(head);
  for (const auto* side : {&baseRuns, &headRuns})
    if (!side->ok()) return fail(side->error().message, 1);
  const Comparison comparison = compareRuns(baseRuns.value(), headRuns.value(), comparedPaths());
  const Status written = writeOutput("", compareText(comparison, stdoutColumns()));
  return written.ok() ? 0 : fail(written.error().message, 1);
}

}  // namespace stallprof
