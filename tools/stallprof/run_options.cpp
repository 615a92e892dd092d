// SPDX-License-Identifier: MIT
#include "stallprof/run_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/text.h"
#include "launch/recording_name.h"
#include "stallprof/arguments.h"
#include "stallprof/output.h"
#include "stallprof/reading.h"

namespace stallprof {
namespace {

constexpr std::array<std::string_view, 4> kFormats = {"text", "json", "md", "html"};
constexpr int kUsageStatus = 125;  // as `env`: our own failure, before the command started

struct Raw {
  std::string output, name, hz = "100", price, rules, progress = "auto", colour = "auto";
  std::vector<std::string> reports, map;
  bool noPython = false, noNative = false, counters = false, gpu = false, nvtx = false;
};

std::vector<Argument> argumentsOf(Raw& raw) {
  std::vector<Argument> all = {
      {"-o,--output", "the recording's directory, taken as it is", &raw.output},
      {"--name",
       "the recording's name: %s script, %t time, %p process, %h host, %r rank, %q{VAR} a variable "
       "of the environment, %% a percent sign (default %s.%t.p%p, with .r%r where there is a rank)",
       &raw.name},
      {"--report",
       "text|json|md|html|none[=FILE], any number of times: added to the text report on stderr, "
       "unless none; without FILE beside the recording",
       nullptr, &raw.reports},
      {"--hz", "looks a second at each thread, 1 to 1000 (default 100)", &raw.hz},
      {"--price", "price of an hour on this machine: the report gives costs", &raw.price},
      {"--rules", "phase rules of your own, in TOML, for the report", &raw.rules},
      {"--map", kMapHelp, nullptr, &raw.map},
      {"--progress",
       "a line on stderr now and then: auto (default: each minute where stderr is no terminal), "
       "off, or seconds between two",
       &raw.progress},
      {"--color", "of the report: auto (default), always, never", &raw.colour}};
  all[4].number = true;
  all.back().choices = {"auto", "always", "never"};
  const auto flag = [&](const char* name, const char* help, bool& value) {
    all.push_back({name, help});
    all.back().flag = &value;
  };
  flag("--no-python", "do not put the Python hook into the command", raw.noPython);
  flag("--no-native", "do not sample what threads execute in native code", raw.noNative);
  flag("--counters", "count the CPUs' own events (cycles, cache misses, stalls) over the whole job",
       raw.counters);
  flag("--gpu", "trace CUDA and NVTX from inside the command (not yet tried on a real GPU)",
       raw.gpu);
  flag("--nvtx", "record the command's NVTX ranges, without tracing CUDA; --gpu and --map do, too",
       raw.nvtx);
  return all;
}

// The whole of `word` as a number from `least` to `most`; empty where it is none.
std::optional<unsigned> whole(const std::string& word, unsigned least, unsigned most) {
  unsigned value = 0;
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, value);
  if (error != std::errc() || stop != end || value < least || value > most) return std::nullopt;
  return value;
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
      return "--report takes text, json, md, html or none, and =FILE; not " + inQuotes(word);
    } else if (const Status free = wouldReplace(file); !free.ok()) {
      return free.error().message;
    } else if (format != "text" || !file.empty()) {
      options.reports.push_back({format, file});
    }
  }
  if (!none) options.reports.insert(options.reports.begin(), {"text", ""});
  return {};
}

// Told before the command starts, not when it is over. "" or what is wrong.
std::string set(const Raw& raw, LaunchOptions& options) {
  if (std::string why = setReports(raw.reports, options); !why.empty()) return why;
  const auto hz = whole(raw.hz, 1, 1000);
  if (!hz) return "--hz takes a whole number from 1 to 1000, not " + inQuotes(raw.hz);
  options.hz = *hz;
  if (raw.progress != "auto" && raw.progress != "off") {
    const auto every = whole(raw.progress, 1, 86400);
    if (!every) return "--progress takes auto, off or seconds, not " + inQuotes(raw.progress);
    options.progressSeconds = static_cast<int>(*every);
  } else if (raw.progress == "off") {
    options.progressSeconds = 0;
  }
  if (const Status fit = checkNamePattern(raw.name); !fit.ok()) return fit.error().message;
  if (!raw.rules.empty())
    if (const auto table = readRules(raw.rules); !table.ok()) return table.error().message;
  if (auto maps = readMaps(raw.map); maps.ok())
    options.maps = std::move(maps).value();
  else
    return maps.error().message;
  options.output = raw.output;
  options.name = raw.name;
  options.python = !raw.noPython;
  options.native = !raw.noNative;
  options.counters = raw.counters;
  options.gpu = raw.gpu;
  options.nvtx = raw.gpu || raw.nvtx || !raw.map.empty();
  options.price = raw.price;
  options.rules = raw.rules;
  options.colour = raw.colour;
  return {};
}

}  // namespace

RunWords parseRun(const Words& words) {
  RunWords parsed;
  Raw raw;
  const std::vector<Argument> arguments = argumentsOf(raw);
  const auto split =
      words.before.begin() + static_cast<std::ptrdiff_t>(optionWords(arguments, words.before));
  std::vector<std::string>& command = parsed.options.command;
  command.assign(split, words.before.end());
  if (!command.empty() && words.dashes) command.emplace_back("--");  // the command's own
  command.insert(command.end(), words.after.begin(), words.after.end());

  const auto status = parseArguments(
      "run",
      "Runs a command, watched, and ends with the report: stallprof run [options] [--] COMMAND "
      "[ARG...]. Options come before the command.",
      arguments, {words.before.begin(), split}, kUsageStatus);
  if (status) {
    parsed.status = *status;
    return parsed;
  }
  parsed.error = set(raw, parsed.options);
  if (parsed.error.empty() && command.empty()) parsed.error = "no command to run";
  if (!parsed.error.empty()) parsed.status = kUsageStatus;
  return parsed;
}

AttachWords parseAttach(const Words& words) {
  AttachWords parsed;
  Raw raw;
  std::string pid, limit;
  std::vector<Argument> arguments = {
      {"-p,--pid", "the process, and with it all that it started or starts", &pid},
      {"--for", "seconds after which to leave (default: when the process ends)", &limit}};
  arguments[0].required = true;
  // What needs the command to be started by us, or has another meaning here, is not asked.
  for (const Argument& argument : argumentsOf(raw))
    if (const std::string name = argument.longName(); name != "--gpu" && name != "--nvtx" &&
                                                      name != "--map" && name != "--counters" &&
                                                      name != "--progress" && name != "--no-python")
      arguments.push_back(argument);
  arguments.push_back({"--no-python", "do not read Python stacks"});
  arguments.back().flag = &raw.noPython;
  const auto status = parseArguments(
      "attach",
      "Records a program that runs already, from outside, until it ends or Ctrl-C; then the "
      "report. It is only looked at: nothing is put into it, so steps are inferred.",
      arguments, joinedWords(words));
  if (status) {
    parsed.status = *status;
    return parsed;
  }
  parsed.error = set(raw, parsed.options);
  const auto number = whole(pid, 1, 1u << 22);  // PID_MAX_LIMIT
  if (parsed.error.empty() && !number)
    parsed.error = "--pid takes the number of a process, not " + inQuotes(pid);
  parsed.pid = static_cast<int>(number.value_or(0));
  const auto seconds = whole(limit, 1, 30 * 86400);
  if (parsed.error.empty() && !limit.empty() && !seconds)
    parsed.error = "--for takes whole seconds, not " + inQuotes(limit);
  parsed.limit = std::chrono::seconds(seconds.value_or(0));
  if (!parsed.error.empty()) parsed.status = 2;
  return parsed;
}

}  // namespace stallprof
