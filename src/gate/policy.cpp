// SPDX-License-Identifier: MIT
#include "gate/policy.h"

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/text.h"
#include "gate/policy_entries.h"

namespace stallprof {
namespace {

// A file a person writes.
constexpr std::size_t kLargestFile = 256u << 10;
constexpr std::size_t kMostEntries = 256;
// A threshold for one run a side must be wide enough to mean something: semantics, Gate.
constexpr double kLeastSingleRun = 0.10;
// Five a side are what a verdict takes; a policy may ask for more.
constexpr std::int64_t kLeastRuns = 5, kMostRuns = 1000;

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

std::string listed(const Words& words) {
  std::string out;
  for (const std::string_view word : words) out += (out.empty() ? "" : ", ") + std::string(word);
  return out;
}

// One file on its way to a policy; the first complaint ends it.
class PolicyReader {
 public:
  PolicyReader(std::string file, std::string today)
      : file_(std::move(file)), today_(std::move(today)) {
    policy_.file = file_;
  }

  Result<Policy> read(std::string_view text) {
    if (text.size() > kLargestFile) return complain(1, "larger than 256 KiB");
    if (const std::uint32_t line = strangeHeader(text))
      return complain(line,
                      "no such table; there are [baseline], [sampling], [stats], "
                      "[[metric]], [[finding]] and [[waiver]]");
    const toml::parse_result parsed = toml::parse(text);
    if (!parsed)
      return complain(parsed.error().source().begin.line,
                      escapeTerminal(parsed.error().description(), 300));
    readTop(parsed.table());
    for (const Waiver& waiver : waivers_)
      if (const std::string why = applyWaiver(waiver, policy_); !why.empty())
        fail(waiver.line, why);
    if (!wrong_ && policy_.checks.empty() && policy_.findings.empty())
      fail(1, "nothing is asked: add a [[metric]] or a [[finding]]");
    if (wrong_) return *wrong_;
    return std::move(policy_);
  }

 private:
  // toml++ 3.3 takes for granted that a name follows the brackets of a header, and without
  // assertions builds on it; so a line that begins with [ must be a header we know.
  static std::uint32_t strangeHeader(std::string_view text) {
    constexpr std::string_view kKnown[] = {"[baseline]", "[sampling]",  "[stats]",
                                           "[[metric]]", "[[finding]]", "[[waiver]]"};
    for (std::uint32_t line = 1; !text.empty(); ++line) {
      std::string_view row = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(row.size() + 1, text.size()));
      row.remove_prefix(std::min(row.find_first_not_of(" \t"), row.size()));
      if (row.starts_with('[') && std::none_of(std::begin(kKnown), std::end(kKnown),
                                               [&](auto known) { return row.starts_with(known); }))
        return line;
    }
    return 0;
  }

  Error complain(std::uint32_t line, const std::string& why) const {
    return {Error::Kind::kUsage,
            escapeTerminal(file_, 400) + ":" + std::to_string(line) + ": " + why};
  }
  void fail(std::uint32_t line, const std::string& why) {
    if (!wrong_) wrong_ = complain(line, why);
  }
  void fail(const toml::node& at, const std::string& why) { fail(at.source().begin.line, why); }
  void unknown(const toml::node& at, std::string_view key, const std::string& where,
               const Words& words) {
    fail(at, inQuotes(key) + " is no key of " + where + didYouMean(key, words));
  }

  // One of `words`, by its place; 0 with a complaint for anything else.
  std::size_t choice(const toml::node& node, std::string_view key, const Words& words) {
    const auto text = node.value_exact<std::string>();
    const auto found = std::find(words.begin(), words.end(), text.value_or(""));
    if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
    fail(node,
         std::string(key) + " is one of " + listed(words) + didYouMean(text.value_or(""), words));
    return 0;
  }

  std::string text(const toml::node& node, std::string_view key) {
    const auto value = node.value_exact<std::string>();
    if (value && !value->empty()) return *value;
    fail(node, std::string(key) + " takes a text");
    return "";
  }

  std::int64_t whole(const toml::node& node, std::string_view key, std::int64_t least,
                     std::int64_t most) {
    const auto value = node.value_exact<std::int64_t>();
    if (value && *value >= least && *value <= most) return *value;
    fail(node, std::string(key) + " takes a whole number from " + std::to_string(least) + " to " +
                   std::to_string(most));
    return least;
  }

  // A number, or a text of a number and one of `units`.
  Maybe<double> amount(const toml::node& node,
                       const std::vector<std::pair<std::string_view, double>>& units) {
    if (const auto i = node.value_exact<std::int64_t>()) return static_cast<double>(*i);
    if (const auto d = node.value_exact<double>(); d && std::isfinite(*d)) return *d;
    const std::string written = node.value_exact<std::string>().value_or("");
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
  double share(const toml::node& node, std::string_view key, double least, double most) {
    const Maybe<double> value = amount(node, {{"%", 0.01}, {"points", 0.01}, {"", 1}});
    if (value && *value >= least && *value <= most) return *value;
    fail(node, std::string(key) + " takes a share such as \"5%\" or 0.05, from " +
                   std::to_string(static_cast<int>(std::round(least * 100))) + "% to " +
                   std::to_string(static_cast<int>(most * 100)) + "%");
    return most;
  }

  // A bound in the metric's own unit: "1.5ms" of a time, "4GB" of bytes, "10%" of a share.
  double quantity(const toml::node& node, std::string_view key, const MetricKind& kind) {
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
    if (value && *value >= 0) return *value;
    fail(node, std::string(key) + " takes " + example);
    return 0;
  }

  const toml::table* table(const toml::node& node, std::string_view key) {
    if (const toml::table* t = node.as_table()) return t;
    fail(node, std::string(key) + " is written [" + std::string(key) + "]");
    return nullptr;
  }

  template <class Each>
  void each(const toml::node& node, std::string_view key, Each&& read) {
    const toml::array* list = node.as_array();
    if (list == nullptr || list->size() > kMostEntries)
      return fail(node,
                  std::string(key) + " is written [[" + std::string(key) + "]], 256 times at most");
    for (const toml::node& one : *list)
      if (const toml::table* t = one.as_table())
        read(*t);
      else
        fail(one, std::string(key) + " is written [[" + std::string(key) + "]]");
  }

  void readTop(const toml::table& top) {
    const std::string schema = top["schema"].value_exact<std::string>().value_or("");
    if (schema != kGateSchema) {
      const toml::node* at = top.get("schema");
      return fail(at == nullptr ? 1 : at->source().begin.line,
                  std::string("schema = \"") + kGateSchema + "\" is missing: no other is read");
    }
    for (const auto& [key, node] : top) {
      const std::string_view name = key.str();
      if (name == "schema") continue;
      if (name == "baseline")
        readBaseline(node);
      else if (name == "sampling")
        readSampling(node);
      else if (name == "stats")
        readStats(node);
      else if (name == "metric")
        each(node, name, [this](const toml::table& t) { readMetric(t); });
      else if (name == "finding")
        each(node, name, [this](const toml::table& t) { readFinding(t); });
      else if (name == "waiver")
        each(node, name, [this](const toml::table& t) { readWaiver(t); });
      else
        unknown(node, name, "a gate's policy", kTop);
    }
    std::stable_sort(policy_.checks.begin(), policy_.checks.end(),
                     [](const Check& a, const Check& b) { return a.line < b.line; });
  }

  void readBaseline(const toml::node& node) {
    const toml::table* t = table(node, "baseline");
    if (t == nullptr) return;
    for (const auto& [key, value] : *t) {
      const std::string_view name = key.str();
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

  void readMatch(const toml::node& node) {
    const toml::array* list = node.as_array();
    if (list == nullptr) return fail(node, "match takes a list of " + listed(kMatch));
    policy_.match.clear();
    for (const toml::node& one : *list)
      policy_.match.emplace_back(kMatch[choice(one, "match", kMatch)]);
  }

  void readSampling(const toml::node& node) {
    const toml::table* t = table(node, "sampling");
    if (t == nullptr) return;
    for (const auto& [key, value] : *t) {
      const std::string_view name = key.str();
      if (name == "min_runs")
        policy_.minRuns = static_cast<std::size_t>(whole(value, name, kLeastRuns, kMostRuns));
      else if (name == "min_steps")
        policy_.minSteps = whole(value, name, 0, 1'000'000'000);
      else
        unknown(value, name, "[sampling]", kSampling);
    }
  }

  void readStats(const toml::node& node) {
    const toml::table* t = table(node, "stats");
    if (t == nullptr) return;
    for (const auto& [key, value] : *t) {
      const std::string_view name = key.str();
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

  void readMetric(const toml::table& t) {
    const std::uint32_t line = t.source().begin.line;
    const toml::node* name = t.get("name");
    if (name == nullptr) return fail(line, "a [[metric]] without name");
    const std::string path = text(*name, "name");
    const MetricKind* kind = findMetric(path);
    if (kind == nullptr)
      return fail(*name, inQuotes(path) + " is no metric of a report" + didYouMeanMetric(path));
    MetricEntry entry;
    entry.common.path = path, entry.common.line = name->source().begin.line;
    entry.common.worse = kind->worse;
    bool off = false;
    for (const auto& [key, value] : t) readMetricKey(key.str(), value, *kind, entry, off);
    if (off || wrong_) return;
    if (const std::string why = addChecks(entry, policy_); !why.empty()) fail(line, why);
  }

  void readMetricKey(std::string_view key, const toml::node& value, const MetricKind& kind,
                     MetricEntry& entry, bool& off) {
    Check& check = entry.common;
    if (key == "name") return;
    if (key == "worse") {
      check.worse = static_cast<Worse>(choice(value, key, {"higher", "lower"}));
    } else if (key == "max_regression") {
      check.floor = share(value, key, 0.0001, 10), entry.shift = true;
    } else if (key == "single_run_threshold") {
      check.singleRun = share(value, key, kLeastSingleRun, 10), entry.shift = true;
    } else if (key == "min_abs") {
      check.leastAbsolute = quantity(value, key, kind);
    } else if (key == "max") {
      entry.max = quantity(value, key, kind);
    } else if (key == "min") {
      entry.min = quantity(value, key, kind);
    } else if (key == "deterministic") {
      const auto yes = value.value_exact<bool>();
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

  void readFinding(const toml::table& t) {
    FindingRule rule;
    rule.line = t.source().begin.line;
    for (const auto& [key, value] : t) {
      const std::string_view name = key.str();
      if (name == "id")
        rule.id = text(value, name);
      else if (name == "new")
        rule.level = static_cast<Level>(choice(value, name, {"error", "warn", "info"}));
      else
        unknown(value, name, "[[finding]]", kFinding);
    }
    if (rule.id.empty()) fail(rule.line, "a [[finding]] without id");
    policy_.findings.push_back(std::move(rule));
  }

  void readWaiver(const toml::table& t) {
    Waiver waiver;
    waiver.line = t.source().begin.line;
    for (const auto& [key, value] : t) {
      const std::string_view name = key.str();
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

  void readExpiry(const toml::node& node, Waiver& waiver) {
    const auto date = node.value_exact<toml::date>();
    if (!date) return fail(node, "expires takes a date such as 2026-12-31, without quotes");
    char text[32];
    std::snprintf(text, sizeof text, "%04u-%02u-%02u", unsigned{date->year}, unsigned{date->month},
                  unsigned{date->day});
    waiver.expires = text;
    if (waiver.expires < today_) fail(node, "this waiver expired on " + waiver.expires);
  }

  std::string file_, today_;
  Policy policy_;
  std::vector<Waiver> waivers_;
  std::optional<Error> wrong_;
};

}  // namespace

Policy defaultPolicy() {
  Policy policy;
  Check time, wait;
  time.path = "steps.time_ns.p50";
  wait.path = "breakdown.ratio.data_wait", wait.level = Level::kInfo;
  policy.checks = {time, wait};
  return policy;
}

Result<Policy> parsePolicy(std::string_view toml, const std::string& file,
                           const std::string& today) {
  return PolicyReader(file, today).read(toml);
}

}  // namespace stallprof
