// SPDX-License-Identifier: MIT
#include "stallprof/run_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "base/text.h"
#include "stallprof/reading.h"

namespace stallprof {
namespace {

constexpr std::array<std::string_view, 4> kFormats = {"text", "json", "md", "html"};
constexpr int kUsageStatus = 125;  // as `env`: our own failure, before the command started

struct Raw {
  std::string output;
  std::vector<std::string> reports;
  unsigned hz = 100;
  bool noPython = false, noNative = false, counters = false;
  bool gpu = false;
  std::string price;
  std::string rules;
};

void declare(CLI::App& app, Raw& raw) {
  app.name("stallprof run");
  app.description(
      "Runs a command, watched, and ends with the report. Options come before the command.");
  app.footer("stallprof run [options] [--] COMMAND [ARG...]");
  app.add_option("-o,--output", raw.output,
                 "the recording's directory (default: SCRIPT.TIME.pPID.stallprof here)");
  app.add_option("--report", raw.reports,
                 "text|json|md|html|none[=FILE], any number of times: added to the text report on "
                 "stderr, unless `none`; without FILE beside the recording")
      ->allow_extra_args(false);
  app.add_option("--hz", raw.hz, "looks a second at each thread (default 100)")
      ->check(CLI::Range(1u, 1000u));
  app.add_flag("--no-python", raw.noPython, "do not put the Python hook into the command");
  app.add_flag("--no-native", raw.noNative, "do not sample what threads execute in native code");
  app.add_flag("--counters", raw.counters,
               "count the CPUs' own events (cycles, cache misses, stalls) over the whole job");
  app.add_flag("--gpu", raw.gpu,
               "trace CUDA and NVTX from inside the command (not yet tried on a real GPU)");
  app.add_option("--price", raw.price, "price of an hour on this machine: the report gives costs")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--rules", raw.rules, "phase rules of your own, in TOML, for the report");
}

// How many of `words` are options with their values; what follows is the command.
std::size_t optionWords(const CLI::App& app, const std::vector<std::string>& words) {
  std::size_t i = 0;
  while (i < words.size() && words[i].size() > 1 && words[i][0] == '-') {
    const bool attached =
        words[i].find('=') != std::string::npos || (words[i][1] != '-' && words[i].size() > 2);
    const CLI::Option* option = app.get_option_no_throw(words[i]);
    i += !attached && option != nullptr && option->get_items_expected() > 0 ? 2 : 1;
  }
  return std::min(i, words.size());
}

std::string setReports(const std::vector<std::string>& words, LaunchOptions& options) {
  bool none = false;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    const std::string format = word.substr(0, equals);
    const std::string file = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (format == "none" && equals == std::string::npos) {
      none = true;
    } else if (std::find(kFormats.begin(), kFormats.end(), format) == kFormats.end() ||
               (equals != std::string::npos && file.empty())) {
      return "--report takes text, json, md, html or none, and =FILE; not '" +
             escapeTerminal(word, 128) + "'";
    } else if (format != "text" || !file.empty()) {
      options.reports.push_back({format, file});
    }
  }
  if (!none) options.reports.insert(options.reports.begin(), {"text", ""});
  return {};
}

}  // namespace

RunWords parseRun(const Words& words) {
  RunWords parsed;
  Raw raw;
  CLI::App app;
  declare(app, raw);
  const std::size_t split = optionWords(app, words.before);
  std::vector<std::string> flags(words.before.begin(),
                                 words.before.begin() + static_cast<std::ptrdiff_t>(split));
  std::vector<std::string>& command = parsed.options.command;
  command.assign(words.before.begin() + static_cast<std::ptrdiff_t>(split), words.before.end());
  if (!command.empty() && words.dashes) command.emplace_back("--");  // the command's own
  command.insert(command.end(), words.after.begin(), words.after.end());

  std::reverse(flags.begin(), flags.end());  // CLI11 takes its vector from the back
  try {
    app.parse(flags);
  } catch (const CLI::CallForHelp&) {
    parsed.status = 0;
    parsed.help = app.help();
    return parsed;
  } catch (const CLI::ParseError& error) {
    parsed.error = escapeTerminal(error.what(), 512);
  }
  if (parsed.error.empty()) parsed.error = setReports(raw.reports, parsed.options);
  if (parsed.error.empty() && command.empty()) parsed.error = "no command to run";
  // Told before the command starts, not when its report is due.
  if (parsed.error.empty() && !raw.rules.empty())
    if (const auto table = readRules(raw.rules); !table.ok()) parsed.error = table.error().message;
  if (!parsed.error.empty()) parsed.status = kUsageStatus;
  parsed.options.output = raw.output;
  parsed.options.hz = raw.hz;
  parsed.options.python = !raw.noPython;
  parsed.options.native = !raw.noNative;
  parsed.options.counters = raw.counters;
  parsed.options.gpu = raw.gpu;
  parsed.options.price = raw.price;
  parsed.options.rules = raw.rules;
  return parsed;
}

}  // namespace stallprof
