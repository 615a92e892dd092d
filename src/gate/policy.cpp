// SPDX-License-Identifier: MIT
#include "gate/policy.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/text.h"
#include "base/units.h"
#include "gate/policy_entries.h"
#include "settings/toml_file.h"

namespace stallprof {
namespace {

// A file a person writes.
constexpr std::size_t kLargestFile = 256u << 10;
constexpr std::size_t kMaxEntries = 256;
// A threshold for one run a side must be wide enough to mean something: semantics, Gate.
constexpr double kMinSingleRun = 0.10;
// Five a side are what a verdict takes; a policy may ask for more.
constexpr std::int64_t kMinRuns = 5, kMaxRuns = 1000;

using Words = std::vector<std::string_view>;
const Words kTop = {"schema", "baseline", "sampling", "stats", "metric", "finding", "waiver"};
const Words kBaseline = {"dir", "match", "on_mismatch", "on_missing", "max_age_days"};
const Words kSampling = {"min_runs", "min_steps"};
const Words kStats = {"alpha", "correction", "on_inconclusive"};
const Words kMetric = {
    "name",          "worse",     "max_regression", "single_run_threshold", "min_abs", "max", "min",
    "deterministic", "tolerance", "level"};
const Words kFinding = {"id", "new"};
const Words kWaiver = {"metric", "reason", "expires"};
const Words kMatch = {"cpu_model", "cores", "gpus", "framework"};

// Whether a line is a header of a table that a policy has.
bool isPolicyHeader(std::string_view row) {
  constexpr std::string_view kKnown[] = {"[baseline]", "[sampling]",  "[stats]",
                                         "[[metric]]", "[[finding]]", "[[waiver]]"};
  return std::any_of(std::begin(kKnown), std::end(kKnown),
                     [&](std::string_view known) { return row.starts_with(known); });
}

// One file on its way to a policy.
class PolicyReader : TomlFile {
 public:
  PolicyReader(std::string file, std::string today)
      : TomlFile(std::move(file)), today_(std::move(today)) {
    policy_.file = file_;
  }

  Result<Policy> read(std::string_view text) {
    const Limits limits = {kLargestFile, "larger than 256 KiB", isPolicyHeader,
                           "no such table; there are [baseline], [sampling], [stats], "
                           "[[metric]], [[finding]] and [[waiver]]"};
    const Result<TomlTable> top = parse(text, limits);
    if (!top.ok()) return top.error();
    readTop(top.value());
    for (const Waiver& waiver : waivers_)
      if (const std::string why = applyWaiver(waiver, policy_); !why.empty())
        fail(waiver.line, why);
    if (!wrong_ && policy_.checks.empty() && policy_.findings.empty())
      fail(1, "nothing is asked: add a [[metric]] or a [[finding]]");
    if (wrong_) return *wrong_;
    return std::move(policy_);
  }

 private:
  void unknown(const TomlValue& at, std::string_view key, const std::string& where,
               const Words& words) {
    fail(at, inQuotes(key) + " is no key of " + where + didYouMean(key, words));
  }

  // One of `words`, by its place; 0 with a complaint for anything else.
  std::size_t choice(const TomlValue& node, std::string_view key, const Words& words) {
    const std::string text = node.text();
    const auto found = std::find(words.begin(), words.end(), text);
    if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
    fail(node, std::string(key) + " is one of " + joined(words, ", ") + didYouMean(text, words));
    return 0;
  }

  std::string text(const TomlValue& node, std::string_view key) {
    if (std::string value = node.text(); !value.empty()) return value;
    fail(node, std::string(key) + " takes a text");
    return "";
  }

  std::int64_t whole(const TomlValue& node, std::string_view key, std::int64_t minimum,
                     std::int64_t maximum) {
    const auto* value = node.as<std::int64_t>();
    if (value && *value >= minimum && *value <= maximum) return *value;
    fail(node, std::string(key) + " takes a whole number from " + std::to_string(minimum) + " to " +
                   std::to_string(maximum));
    return minimum;
  }

  // A number, or a text of a number and one of `units`.
  Maybe<double> amount(const TomlValue& node,
                       const std::vector<std::pair<std::string_view, double>>& units) {
    if (const auto* i = node.as<std::int64_t>()) return static_cast<double>(*i);
    if (const auto* d = node.as<double>(); d && std::isfinite(*d)) return *d;
    const std::string written = node.text();
    char* end = nullptr;
    const double number = std::strtod(written.c_str(), &end);
    std::string_view unit(end);
    unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
    if (end == written.c_str() || !std::isfinite(number)) return {};
    for (const auto& [name, factor] : units)
      if (unit == name) return number * factor;
    return {};
  }

  // "5%" or 0.05, above zero unless it may be zero.
  double share(const TomlValue& node, std::string_view key, double minimum, double maximum) {
    const Maybe<double> value = amount(node, {{"%", 0.01}, {"points", 0.01}, {"", 1}});
    const bool unit = node.text().find_first_of("%p") != std::string::npos;
    if (value && *value > 1 && !unit) {
      const std::string number = numberText(*value), percent = numberText(*value * 100);
      fail(node, std::string(key) + " = " + number + " would be " + percent + "%: write \"" +
                     number + "%\" or \"" + percent + "%\"");
      return maximum;
    }
    if (value && *value >= minimum && *value <= maximum) return *value;
    fail(node, std::string(key) + " takes a share such as \"5%\" or 0.05, from " +
                   std::to_string(static_cast<int>(std::round(minimum * 100))) + "% to " +
                   std::to_string(static_cast<int>(maximum * 100)) + "%");
    return maximum;
  }

  // A bound in the metric's own unit: "1.5ms" of a time, "4GB" of bytes, "10%" of a share.
  double quantity(const TomlValue& node, std::string_view key, const MetricKind& kind) {
    std::vector<std::pair<std::string_view, double>> units = {{"", 1}};
    const char* example = "a number";
    if (kind.unit == "ns") {
      units.insert(units.end(), {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 6e10}});
      example = "a time such as \"1.5ms\"";
    } else if (kind.unit.starts_with("bytes")) {
      units.insert(units.end(), {{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}});
      example = "bytes such as \"800MB\"";
    } else if (kind.inPoints()) {
      units.emplace_back("%", 0.01);
      example = "a share such as \"10%\" or 0.1";
    }
    const Maybe<double> value = amount(node, units);
    if (value && *value >= 0 && (!kind.inPoints() || *value <= 1)) return *value;
    fail(node, std::string(key) + " takes " + example);
    return 0;
  }

  const TomlTable* table(const TomlValue& node, std::string_view key) {
    if (const auto* t = node.as<TomlTable>()) return t;
    fail(node, std::string(key) + " is written [" + std::string(key) + "]");
    return nullptr;
  }

  template <class Each>
  void each(const TomlValue& node, std::string_view key, Each&& read) {
    const auto* list = node.as<TomlValue::List>();
    if (list == nullptr || list->size() > kMaxEntries)
      return fail(node,
                  std::string(key) + " is written [[" + std::string(key) + "]], 256 times at most");
    for (const TomlValue& one : *list)
      if (const auto* t = one.as<TomlTable>())
        read(*t);
      else
        fail(one, std::string(key) + " is written [[" + std::string(key) + "]]");
  }

  void readTop(const TomlTable& top) {
    const TomlValue* schema = top.find("schema");
    if (schema == nullptr || schema->text() != kGateSchema) {
      return fail(schema == nullptr ? 1 : schema->line(),
                  std::string("schema = \"") + kGateSchema + "\" is missing: no other is read");
    }
    for (const auto& [key, node] : top.entries) {
      const std::string_view name = key;
      if (name == "schema") continue;
      if (name == "baseline")
        readBaseline(node);
      else if (name == "sampling")
        readSampling(node);
      else if (name == "stats")
        readStats(node);
      else if (name == "metric")
        each(node, name, [this](const TomlTable& t) { readMetric(t); });
      else if (name == "finding")
        each(node, name, [this](const TomlTable& t) { readFinding(t); });
      else if (name == "waiver")
        each(node, name, [this](const TomlTable& t) { readWaiver(t); });
      else
        unknown(node, name, "a gate's policy", kTop);
    }
    std::stable_sort(policy_.checks.begin(), policy_.checks.end(),
                     [](const Check& a, const Check& b) { return a.line < b.line; });
  }

  void readBaseline(const TomlValue& node) {
    const TomlTable* t = table(node, "baseline");
    if (t == nullptr) return;
    for (const auto& [key, value] : t->entries) {
      const std::string_view name = key;
      if (name == "dir")
        policy_.baseline = text(value, name);
      else if (name == "match")
        readMatch(value);
      else if (name == "on_mismatch")
        policy_.mismatchWarns = choice(value, name, {"incomparable", "warn"}) == 1;
      else if (name == "on_missing")
        policy_.missingBaselineWarns = choice(value, name, {"fail", "warn"}) == 1;
      else if (name == "max_age_days")
        policy_.maxAgeDays = whole(value, name, 1, 3650);
      else
        unknown(value, name, "[baseline]", kBaseline);
    }
  }

  void readMatch(const TomlValue& node) {
    const auto* list = node.as<TomlValue::List>();
    if (list == nullptr) return fail(node, "match takes a list of " + joined(kMatch, ", "));
    policy_.match.clear();
    for (const TomlValue& one : *list)
      policy_.match.emplace_back(kMatch[choice(one, "match", kMatch)]);
  }

  void readSampling(const TomlValue& node) {
    const TomlTable* t = table(node, "sampling");
    if (t == nullptr) return;
    for (const auto& [key, value] : t->entries) {
      const std::string_view name = key;
      if (name == "min_runs")
        policy_.minRuns = static_cast<std::size_t>(whole(value, name, kMinRuns, kMaxRuns));
      else if (name == "min_steps")
        policy_.minSteps = whole(value, name, 0, 1'000'000'000);
      else
        unknown(value, name, "[sampling]", kSampling);
    }
  }

  void readStats(const TomlValue& node) {
    const TomlTable* t = table(node, "stats");
    if (t == nullptr) return;
    for (const auto& [key, value] : t->entries) {
      const std::string_view name = key;
      if (name == "alpha") {
        policy_.alpha = amount(value, {{"", 1}, {"%", 0.01}}).value_or(0);
        if (!(policy_.alpha >= 0.0001 && policy_.alpha <= 0.2))
          fail(value, "alpha takes a number from 0.0001 to 0.2");
      } else if (name == "correction") {
        policy_.bonferroni = choice(value, name, {"bonferroni", "none"}) == 0;
      } else if (name == "on_inconclusive") {
        policy_.onInconclusive =
            static_cast<OnInconclusive>(choice(value, name, {"pass", "warn", "fail"}));
      } else {
        unknown(value, name, "[stats]", kStats);
      }
    }
  }

  void readMetric(const TomlTable& t) {
    const std::uint32_t line = t.line;
    const TomlValue* name = t.find("name");
    if (name == nullptr) return fail(line, "a [[metric]] without name");
    const std::string path = text(*name, "name");
    const MetricKind* kind = findMetric(path);
    if (kind == nullptr)
      return fail(*name, inQuotes(path) + " is no metric of a report" + didYouMeanMetric(path));
    MetricEntry entry;
    entry.common.path = path;
    entry.common.line = name->line();
    entry.common.worse = kind->worse;
    bool off = false;
    for (const auto& [key, value] : t.entries) readMetricKey(key, value, *kind, entry, off);
    if (off || wrong_) return;
    if (const std::string why = addChecks(entry, policy_); !why.empty()) fail(line, why);
  }

  void readMetricKey(std::string_view key, const TomlValue& value, const MetricKind& kind,
                     MetricEntry& entry, bool& off) {
    Check& check = entry.common;
    if (key == "name") return;
    if (key == "worse") {
      check.worse = static_cast<Worse>(choice(value, key, {"higher", "lower"}));
    } else if (key == "max_regression") {
      check.floor = share(value, key, 0.0001, 10);
      entry.shift = true;
    } else if (key == "single_run_threshold") {
      check.singleRun = share(value, key, kMinSingleRun, 10);
      entry.shift = true;
    } else if (key == "min_abs") {
      check.minAbsolute = quantity(value, key, kind);
    } else if (key == "max") {
      entry.max = quantity(value, key, kind);
    } else if (key == "min") {
      entry.min = quantity(value, key, kind);
    } else if (key == "deterministic") {
      const auto* yes = value.as<bool>();
      if (!yes) return fail(value, "deterministic is true or false");
      entry.exact = *yes;
    } else if (key == "tolerance") {
      check.tolerance = share(value, key, 0, 1);
    } else if (key == "level") {
      const std::size_t at = choice(value, key, {"error", "warn", "info", "off"});
      off = at == 3;
      check.level = static_cast<Level>(std::min<std::size_t>(at, 2));
    } else {
      unknown(value, key, "[[metric]]", kMetric);
    }
  }

  void readFinding(const TomlTable& t) {
    FindingRule rule;
    rule.line = t.line;
    for (const auto& [key, value] : t.entries) {
      const std::string_view name = key;
      if (name == "id")
        rule.id = text(value, name);
      else if (name == "new")
        rule.level = static_cast<Level>(choice(value, name, {"error", "warn", "info"}));
      else
        unknown(value, name, "[[finding]]", kFinding);
    }
    if (rule.id.empty()) return fail(rule.line, "a [[finding]] without id");
    if (const std::string why = unknownFinding(rule.id); !why.empty()) fail(rule.line, why);
    policy_.findings.push_back(std::move(rule));
  }

  void readWaiver(const TomlTable& t) {
    Waiver waiver;
    waiver.line = t.line;
    for (const auto& [key, value] : t.entries) {
      const std::string_view name = key;
      if (name == "metric")
        waiver.metric = text(value, name);
      else if (name == "reason")
        waiver.reason = text(value, name);
      else if (name == "expires")
        readExpiry(value, waiver);
      else
        unknown(value, name, "[[waiver]]", kWaiver);
    }
    if (waiver.metric.empty() || waiver.reason.empty() || waiver.expires.empty())
      fail(waiver.line, "a [[waiver]] takes metric, reason and expires");
    waivers_.push_back(std::move(waiver));
  }

  void readExpiry(const TomlValue& node, Waiver& waiver) {
    const auto* date = node.as<TomlValue::Date>();
    if (!date) return fail(node, "expires takes a date such as 2026-12-31, without quotes");
    char text[32];
    std::snprintf(text, sizeof text, "%04u-%02u-%02u", date->year, date->month, date->day);
    waiver.expires = text;
    if (waiver.expires < today_) fail(node, "this waiver expired on " + waiver.expires);
  }

  std::string today_;
  Policy policy_;
  std::vector<Waiver> waivers_;
};

}  // namespace

Policy defaultPolicy() {
  Policy policy;
  // The rate has every wait. The median step is one without where workers hand over several batches
  // at once, and none at the begin of an epoch, that saves or that evaluates: it is shown.
  Check rate, time, wait;
  rate.path = "steps.rate_per_s";
  rate.worse = Worse::kLower;
  time.path = "steps.time_ns.p50";
  wait.path = "breakdown.ratio.data_wait";
  time.level = wait.level = Level::kInfo;
  policy.checks = {rate, time, wait};
  return policy;
}

Result<Policy> parsePolicy(std::string_view toml, const std::string& file,
                           const std::string& today) {
  return PolicyReader(file, today).read(toml);
}

}  // namespace stallprof
