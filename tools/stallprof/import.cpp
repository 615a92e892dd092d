// SPDX-License-Identifier: MIT
#include <cstdio>
#include <memory>

#include "base/text.h"
#include "recording/storage.h"
#include "recording/writer.h"
#include "stallprof/command_line.h"
#include "stallprof/output.h"
#include "trace/kineto.h"

namespace stallprof {
namespace {

Result<KinetoTrace> readTrace(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  if (!file) return Error{Error::Kind::kIo, "cannot be opened"};
  const int first = std::getc(file.get());
  if (first == 0x1f) return Error{Error::Kind::kUnsupported, "is compressed: gunzip it first"};
  std::rewind(file.get());
  return readKineto(file.get());
}

class ImportCommand final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.description(
        "Converts a trace of PyTorch's profiler to a recording, for all commands that read one.");
    addText(app, "file", file_, "the trace, NAME.pt.trace.json")->required();
    addText(app, "-o,--output", recording_, "the recording to make, NAME.stallprof")->required();
    addWhole(app, "--workers", {1, 4096, "a whole number from 1 to 4096"},
             "the DataLoader's num_workers, if it has workers; the trace does not contain it",
             [this](unsigned workers) { workers_ = static_cast<int>(workers); });
  }

  int run() override {
    const Result<KinetoTrace> trace = readTrace(file_);
    if (!trace.ok()) return fail(inQuotes(file_) + ": " + trace.error().message, 1);
    if (trace.value().hasWorkers() && workers_ == 0)
      return fail(
          "its DataLoader had workers, and the trace does not contain their number: add --workers "
          "N",
          2);
    const auto writer = Writer::create(recording_, manifestOf(trace.value(), file_));
    if (!writer.ok()) return fail(writer.error().message, 1);
    replayKineto(trace.value(), workers_, *writer.value());
    writer.value()->flush();
    const auto lost = writer.value()->takeNotes().losses;
    const auto unwritten = [&](LossKind kind) { return lost[static_cast<std::size_t>(kind)] > 0; };
    const int why = writer.value()->error();
    if (why != 0 || unwritten(LossKind::kDiskFull) || unwritten(LossKind::kWriteError)) {
      writer.value()->discard();
      return fail(inQuotes(recording_) + " cannot be written" +
                      (why != 0 ? ": " + troubleText(why) : " whole"),
                  1);
    }
    writer.value()->close();
    std::fprintf(stderr, "stallprof: made %s; stallprof report shows it\n",
                 inQuotes(recording_).c_str());
    return 0;
  }

 private:
  std::string file_, recording_;
  int workers_ = 0;  // 0: not given
};

}  // namespace

std::unique_ptr<Command> makeImport() { return std::make_unique<ImportCommand>(); }

}  // namespace stallprof
