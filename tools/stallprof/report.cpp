// SPDX-License-Identifier: MIT
#include <cstdio>
#include <sstream>

#include "present/exporter.h"
#include "present/picture.h"
#include "stallprof/arguments.h"
#include "stallprof/output.h"
#include "stallprof/reading.h"

namespace stallprof {
namespace {

int fail(const Error& error, int status) {
  std::fprintf(stderr, "stallprof: %s\n", error.message.c_str());
  return status;
}

}  // namespace

int verbReport(const Words& words) {
  std::string recording, format = "text", file, price, rules, colour = "auto";
  bool force = false;
  std::vector<std::string> map;
  const auto status = parseArguments(
      "report", "The report of a recording; of a run still going, up to now.",
      {{"recording", "the recording's directory, NAME.stallprof", &recording, nullptr, {}, true},
       {"--format",
        "text (default), json, md, html",
        &format,
        nullptr,
        {"text", "json", "md", "html"}},
       {"-o,--output", "write to this file instead of stdout", &file},
       {"--force", kForceHelp, nullptr, nullptr, {}, false, false, &force},
       {"--price",
        "price of an hour on this machine: gives costs",
        &price,
        nullptr,
        {},
        false,
        true},
       {"--rules", "phase rules of your own, in TOML; see src/classify/rules/README.md", &rules},
       {"--map", kMapHelp, nullptr, &map},
       {"--color", "auto (default), always, never", &colour, nullptr, {"auto", "always", "never"}}},
      joinedWords(words));
  if (status) return *status;
  if (const Status free = wouldReplace(file); !force && !free.ok()) return fail(free.error(), 1);

  PresentOptions options;
  options.recording = recording;
  if (!price.empty()) options.pricePerHour = std::stod(price);
  const bool toStdout = file.empty() || file == "-";
  options.colour = toStdout ? stdoutColour(colour) : colour == "always";
  if (toStdout) options.width = stdoutColumns();

  // The format is settled before a long recording is read.
  Analysis analysis;
  const auto exporter = makeExporter(format, analysis, options);
  if (!exporter.ok()) return fail(exporter.error(), 2);
  const Result<RuleTable> table = readRules(rules);
  if (!table.ok()) return fail(table.error(), 2);
  const auto maps = readMaps(map);
  if (!maps.ok()) return fail(maps.error(), 2);
  Result<Reading> read =
      readRecording(recording, options.pricePerHour, table.value(), maps.value());
  if (!read.ok()) return fail(read.error(), 1);
  Picture picture;
  if (format == "html") {
    picture = draw(read.value().trace, read.value().analyzed);
    options.picture = &picture;
  }
  analysis = std::move(read.value().analyzed.analysis);

  std::ostringstream out;
  exporter.value()->write(out);
  const Status written = writeOutput(file, out.str());
  return written.ok() ? 0 : fail(written.error(), 1);
}

}  // namespace stallprof
