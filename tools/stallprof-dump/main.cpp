// SPDX-License-Identifier: MIT
// stallprof-dump RECORDING: the recording as text (trace/trace_text.h), in the order it was
// written, on stdout. stallprof-dump --activity FILE: the device events that come of kept activity
// (recording/FORMAT.md), processes and threads numbered as their pids and tids.
#include <cstdio>
#include <string>
#include <string_view>

#include "base/text.h"
#include "recording/activity/activity.h"
#include "recording/reader.h"
#include "trace/trace_text.h"

namespace {

using namespace stallprof;

int fail(const std::string& message, int status) {
  std::fprintf(stderr, "stallprof-dump: %s\n", escapeTerminal(message).c_str());
  return status;
}

int flushed() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    return fail("standard output cannot be written", 1);
  return 0;
}

void print(const Event& event, const Strings& strings) {
  const std::string line = eventLine(event, strings) + "\n";
  std::fwrite(line.data(), 1, line.size(), stdout);
}

struct Printer final : EventOut {
  Strings strings;
  StringId intern(std::string_view text) override { return strings.intern(text); }
  void put(const Event& event) override { print(event, strings); }
};

int dumpActivity(const char* file) {
  const EventMemory::Identities identities{
      [](std::uint32_t pid, std::uint64_t) { return ProcessId{pid}; },
      [](ProcessId, std::uint32_t tid) { return ThreadId{tid}; },
      [](std::uint32_t, std::uint64_t) { return false; }};
  Printer printer;
  const Status replayed = replayActivity(file, identities, printer);
  return replayed.ok() ? flushed() : fail(replayed.error().message, 1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--activity") return dumpActivity(argv[2]);
  if (argc != 2 || argv[1][0] == '-')
    return fail("usage: stallprof-dump RECORDING, or --activity FILE", 2);
  Strings strings;
  const Result<ReadSummary> read =
      readRecording(argv[1], strings, [&](const Event& event) { print(event, strings); });
  if (!read.ok()) return fail(read.error().message, 1);
  const ReadSummary& summary = read.value();
  std::fputs(manifestLines(summary.manifest).c_str(), stdout);
  if (summary.cleanEnd) std::fputs("clean_end\n", stdout);
  if (const int status = flushed(); status != 0) return status;
  if (summary.lostBytes > 0)
    std::fprintf(stderr, "stallprof-dump: %lld bytes of %s could not be read\n",
                 static_cast<long long>(summary.lostBytes), escapeTerminal(argv[1]).c_str());
  return 0;
}
