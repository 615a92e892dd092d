// SPDX-License-Identifier: MIT
#include "stallprof/launch_command.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/text.h"
#include "launch/setup/recording_name.h"
#include "stallprof/command_line.h"
#include "stallprof/output.h"
#include "stallprof/reading.h"

namespace stallprof {
namespace {

constexpr std::array<std::string_view, 4> kFormats = {"text", "json", "md", "html"};

// A recording of a few seconds has some 100 kB beside its copies of the manifest.
constexpr std::uint64_t kMinSize = 1'000'000;

}  // namespace

void LaunchCommand::declareRecording(CLI::App& app) {
  addText(app, "-o,--output", options_.output, "the recording's directory, used unchanged");
  addText(
      app, "--name", options_.name,
      "the recording's name: %s script, %t time, %p process, %h host, %r rank, %q{VAR} a variable "
      "of the environment, %% a percent sign (default %s.%t.p%p, with .r%r if there is a rank)");
  addRepeated(app, "--report", reports_,
              "text|json|md|html[=FILE], repeatable: a report in addition to the text report on "
              "stderr; default FILE: next to the recording; none: no text report");
  addWhole(app, "--hz", {1, 1000, "a whole number from 1 to 1000"},
           "maximum samples per second of each thread, 1 to 1000 (default 100)",
           [this](unsigned hz) { options_.hz = hz; });
  addParsed(app, "--budget",
            "percent of the job's CPU, or of one core if that is more, that the recorder may use, "
            "0.1 to 25 (default 1)",
            [this](const std::string& text) -> std::string {
              const auto budget = decimalNumber(text, 0.1, 25);
              options_.budget = budget.value_or(options_.budget);
              return budget ? "" : "--budget takes percent from 0.1 to 25, not " + inQuotes(text);
            });
  addParsed(app, "--max-size",
            "maximum size of the recording, without its log of 1 MB: a number with k, M or G, 1M "
            "at least (default no limit; 5 % of a file system, 2 GiB at most, are left free)",
            [this](const std::string& text) -> std::string {
              const auto size = byteSize(text, kMinSize);
              options_.maxBytes = size.value_or(options_.maxBytes);
              return size ? ""
                          : "--max-size takes a size such as 500M or 2G, not " + inQuotes(text);
            });
  addParsed(app, "--price", "price of an hour on this machine; the report then shows costs",
            [this](const std::string& text) -> std::string {
              options_.price = text;
              return notNegative("--price", text);
            });
  addText(app, "--rules", options_.rules, "file of your phase rules, in TOML, for the report");
}

void LaunchCommand::declareOutput(CLI::App& app) {
  addChoice(app, "--color", options_.colour, {"auto", "always", "never"},
            "colour of the report: auto (default), always, never");
  addParsed(app, "--log-level",
            "level of the recorder's log, the file log in the recording: trace, debug, info "
            "(default), warning, error, off",
            [this](const std::string& text) -> std::string {
              const auto level = std::find(kLogLevelNames.begin(), kLogLevelNames.end(), text);
              options_.logLevel = static_cast<LogLevel>(level - kLogLevelNames.begin());
              return "";
            })
      ->check(
          CLI::IsMember(std::vector<std::string>(kLogLevelNames.begin(), kLogLevelNames.end())));
}

std::string LaunchCommand::checkReports() {
  bool none = false, text = false;
  for (const std::string& word : reports_) {
    const std::size_t equals = word.find('=');
    const std::string format = word.substr(0, equals);
    const std::string file = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (format == "none" && equals == std::string::npos) {
      none = true;
    } else if (std::find(kFormats.begin(), kFormats.end(), format) == kFormats.end() ||
               (equals != std::string::npos && file.empty())) {
      return "--report takes text, json, md, html or none, and =FILE; not " + inQuotes(word);
    } else if (const Status free = wouldReplace(file); !free.ok()) {
      return free.error().message;
    } else if (format == "text" && file.empty()) {
      text = true;
    } else {
      // A device or a pipe, which is there already, takes both.
      for (const auto& other : options_.reports)
        if (other.file == file &&
            (file.empty() ? other.format == format : !std::filesystem::exists(file)))
          return "--report " + inQuotes(word) + ": another report has this file";
      options_.reports.push_back({format, file});
    }
  }
  if (!none || text) options_.reports.insert(options_.reports.begin(), {"text", ""});
  return "";
}

std::string LaunchCommand::check() {
  if (std::string why = checkReports(); !why.empty()) return why;
  if (const Status fit = checkNamePattern(options_.name); !fit.ok()) return fit.error().message;
  if (!options_.rules.empty())
    if (const auto table = readRules(options_.rules); !table.ok()) return table.error().message;
  auto maps = readMaps(map_);
  if (!maps.ok()) return maps.error().message;
  options_.maps = std::move(maps).value();
  return "";
}

}  // namespace stallprof
