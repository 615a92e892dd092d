// SPDX-License-Identifier: MIT
// stallprof-dump RECORDING: the recording as text (trace/trace_text.h), in the order it was
// written, on stdout.
#include <cstdio>
#include <string>

#include "base/text.h"
#include "recording/reader.h"
#include "trace/trace_text.h"

namespace {

int fail(const std::string& message, int status) {
  std::fprintf(stderr, "stallprof-dump: %s\n", stallprof::escapeTerminal(message).c_str());
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace stallprof;
  if (argc != 2 || argv[1][0] == '-') return fail("usage: stallprof-dump RECORDING", 2);
  Strings strings;
  const auto print = [&](const Event& event) {
    const std::string line = eventLine(event, strings) + "\n";
    std::fwrite(line.data(), 1, line.size(), stdout);
  };
  const Result<ReadSummary> read = readRecording(argv[1], strings, print);
  if (!read.ok()) return fail(read.error().message, 1);
  const ReadSummary& summary = read.value();
  std::fputs(manifestLines(summary.manifest).c_str(), stdout);
  if (summary.cleanEnd) std::fputs("clean_end\n", stdout);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    return fail("standard output cannot be written", 1);
  if (summary.lostBytes > 0)
    std::fprintf(stderr, "stallprof-dump: %lld bytes of %s could not be read\n",
                 static_cast<long long>(summary.lostBytes), escapeTerminal(argv[1]).c_str());
  return 0;
}
