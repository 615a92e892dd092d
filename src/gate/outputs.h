// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gate/verdict.h"

// One way to say a gate's result each. Every text from outside is escaped on its way in: no control
// byte, markup or command of the sink's leaves.
namespace stallprof {

// The words of --format, the first is the default.
[[nodiscard]] const std::vector<std::string>& gateFormats();

struct GateOutput {
  int width = 100;             // of text
  bool colour = false;         // of text
  std::string policy;          // the policy file as given; "" for the default policy
  std::string directory = {};  // where relative names of files begin
  std::string checkout = {};   // the repository's root: marks' files are named in it; "": not known
};

// `format` is one of gateFormats(). Newline-terminated.
[[nodiscard]] std::string gateOutput(std::string_view format, const GateResult& result,
                                     const GateOutput& options);

[[nodiscard]] std::string gateText(const GateResult& result, const GateOutput& options);
[[nodiscard]] std::string gateMarkdown(const GateResult& result);
[[nodiscard]] std::string gateJson(const GateResult& result, const GateOutput& options);
[[nodiscard]] std::string gateJunit(const GateResult& result);
[[nodiscard]] std::string gateSarif(const GateResult& result, const GateOutput& options);
[[nodiscard]] std::string gateGitlab(const GateResult& result, const GateOutput& options);
[[nodiscard]] std::string gateGithub(const GateResult& result, const GateOutput& options);

// What CI marks in a file: failures and warnings, the worst first.
struct Mark {
  Level level = Level::kError;
  std::string id;    // "gate/steps.time_ns.p50"
  std::string text;  // ready to print
  std::string file;  // where: the suspect's line, else the policy's; "" nowhere. As it came.
  std::int64_t line = 1;
};
[[nodiscard]] std::vector<Mark> marksOf(const GateResult& result, const GateOutput& options);

}  // namespace stallprof
