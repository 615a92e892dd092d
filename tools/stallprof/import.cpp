// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "base/text.h"
#include "recording/writer.h"
#include "stallprof/arguments.h"
#include "trace/kineto.h"

namespace stallprof {
namespace {

int fail(const std::string& message, int status) {
  std::fprintf(stderr, "stallprof: %s\n", message.c_str());
  return status;
}

Result<KinetoTrace> readFile(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  if (!file) return Error{Error::Kind::kIo, "cannot be opened"};
  const int first = std::getc(file.get());
  if (first == 0x1f) return Error{Error::Kind::kUnsupported, "is compressed: gunzip it first"};
  std::rewind(file.get());
  return readKineto(file.get());
}

}  // namespace

int verbImport(const Words& words) {
  std::string file, recording, workers;
  const auto status = parseArguments(
      "import", "A trace of PyTorch's profiler as a recording, for every other command.",
      {{"file", "the trace, NAME.pt.trace.json", &file, nullptr, {}, true},
       {"-o,--output", "the recording to make, NAME.stallprof", &recording, nullptr, {}, true},
       {"--workers",
        "the DataLoader's num_workers, where it had any: a trace does not say",
        &workers,
        nullptr,
        {},
        false,
        true}},
      joinedWords(words));
  if (status) return *status;
  const Result<KinetoTrace> trace = readFile(file);
  if (!trace.ok()) return fail(inQuotes(file) + ": " + trace.error().message, 1);
  const int count = workers.empty() ? 0 : std::atoi(workers.c_str());
  if (trace.value().hasWorkers() && count <= 0)
    return fail("its DataLoader had workers, and a trace does not say how many: add --workers N",
                2);
  const auto writer = Writer::create(recording, manifestOf(trace.value(), file));
  if (!writer.ok()) return fail(writer.error().message, 1);
  replayKineto(trace.value(), count, *writer.value());
  writer.value()->close();
  std::fprintf(stderr, "stallprof: made %s; stallprof report shows it\n",
               inQuotes(recording).c_str());
  return 0;
}

}  // namespace stallprof
