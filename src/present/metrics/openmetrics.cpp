// SPDX-License-Identifier: MIT
#include "present/metrics/openmetrics.h"

#include <cmath>
#include <concepts>
#include <cstdio>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "present/metrics/report_fields_device.h"
#include "stallprof/version.h"

namespace stallprof {
namespace {

constexpr std::size_t kLongestLabel = 300;  // bytes; a label is an index of the collector's

using Labels = std::vector<std::pair<const char*, std::string_view>>;

std::string labelText(const Labels& labels) {
  std::string out;
  for (const auto& [name, value] : labels) {
    out += (out.empty() ? "{" : ",") + std::string(name) + "=\"";
    for (const char c : escapeTerminal(value, kLongestLabel)) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    out += '"';
  }
  return out.empty() ? out : out + "}";
}

// One family of samples; nothing is written where none was measured.
class Family {
 public:
  // `unit` is the name's last word, or nothing where the format knows none.
  Family(std::string name, std::string unit, std::string help)
      : name_("stallprof_" + std::move(name)), unit_(std::move(unit)), help_(std::move(help)) {}

  Family& add(const Labels& labels, const Maybe<double>& value) {
    if (!value || !std::isfinite(*value)) return *this;
    const std::string text = labelText(labels);
    if (!seen_.insert(text).second) return *this;  // two samples of one name make the text invalid
    char number[40];
    std::snprintf(number, sizeof number, " %.9g\n", *value);
    samples_ += name_ + text + number;
    return *this;
  }
  Family& add(const Labels& labels, double value) { return add(labels, Maybe<double>(value)); }
  Family& add(const Labels& labels, Nanos value) { return add(labels, seconds(value)); }
  template <std::integral T>
  Family& add(const Labels& labels, T value) {
    return add(labels, static_cast<double>(value));
  }

  [[nodiscard]] std::string text() const {
    if (samples_.empty()) return {};
    return "# TYPE " + name_ + " gauge\n" +
           (unit_.empty() ? "" : "# UNIT " + name_ + " " + unit_ + "\n") + "# HELP " + name_ + " " +
           help_ + "\n" + samples_;
  }

 private:
  std::string name_, unit_, help_, samples_;
  std::set<std::string> seen_;
};

// What is no number: always 1, its labels hold the values. A gauge, as the reader of
// node_exporter's directory refuses a text that has the type `info`, all of it.
std::string info(const std::string& name, const std::string& help, const Labels& labels) {
  return Family(name + "_info", "", help).add(labels, 1).text();
}

std::string runInfo(const Analysis& a) {
  std::vector<std::string> words;
  for (const Untrusted& word : a.run.command) {
    words.push_back(word.raw());
    if (words.size() == 20) break;  // longer than a label anyway
  }
  return info("run", "What ran, and what says so.",
              {{"command", joinShell(words)},
               {"framework", a.run.framework.value_or("")},
               {"version", STALLPROF_VERSION}});
}

std::string verdictInfo(const Verdict& v) {
  std::string_view healthy = "unknown";
  if (v.healthy) healthy = *v.healthy ? "true" : "false";
  return info(
      "verdict", "What bounds the run.",
      {{"bound_by", v.boundBy}, {"healthy", healthy}, {"confidence", nameOf(v.confidence)}});
}

// The report's name in base units: time_ns is time_seconds, rate_per_s rate_per_second.
std::string familyName(std::string name) {
  const auto renamed = [&](std::string_view from, std::string_view to) {
    if (name.ends_with(from)) name.replace(name.size() - from.size(), from.size(), to);
  };
  renamed("_ns", "_seconds");
  renamed("_per_s", "_per_second");
  return name;
}

std::string unitOf(const std::string& family) {
  for (const std::string_view unit : {"seconds", "ratio", "bytes", "watts"})
    if (family.ends_with("_" + std::string(unit))) return std::string(unit);
  return {};
}

template <class F, class Struct>
constexpr bool kIsNumber = [] {
  if constexpr (report::kIsGroup<std::remove_cvref_t<F>>) {
    return false;
  } else {
    using Value = report::ValueOf<Struct, decltype(std::remove_cvref_t<F>::get)>;
    return std::is_arithmetic_v<Value> || std::is_same_v<Value, Nanos>;
  }
}();

// A sample of each number in `value`; of an object's members one each, named by the label `by`.
template <class T>
void addValue(Family& family, const Labels& labels, const char* by, const T& value) {
  [[maybe_unused]] const auto labelled = [&](std::string_view name, const auto& number) {
    Labels more = labels;
    more.emplace_back(by, name);
    family.add(more, number);
  };
  if constexpr (report::kIsMaybe<T>) {
    if (value) addValue(family, labels, by, *value);
  } else if constexpr (std::is_same_v<T, report::NamedRatios>) {
    for (const auto& [name, ratio] : *value.items) labelled(name, ratio);
  } else if constexpr (std::is_same_v<T, Nanos> || std::is_arithmetic_v<T>) {
    family.add(labels, value);
  } else if constexpr (!report::kIsValue<T> && !report::kIsList<T> && !std::is_pointer_v<T>) {
    report::forEach(report::fieldsOf(static_cast<const T*>(nullptr)), [&](const auto& f) {
      if constexpr (kIsNumber<decltype(f), T>) labelled(f.name, std::invoke(f.get, value));
    });
  }
}

// A family for each exported field of `items`, which `label` distinguishes; of one item without.
template <class T>
std::string families(const std::string& name, const std::vector<const T*>& items,
                     const char* label = "", std::string_view (*idOf)(const T&) = nullptr) {
  std::string out;
  report::forEach(report::fieldsOf(static_cast<const T*>(nullptr)), [&](const auto& f) {
    if constexpr (!report::kIsGroup<std::remove_cvref_t<decltype(f)>>) {
      if (!f.about.exported) return;
      const std::string full = familyName(name + "_" + f.name);
      Family family(full, unitOf(full), f.about.text);
      for (const T* item : items) {
        const Labels labels = idOf == nullptr ? Labels{} : Labels{{label, idOf(*item)}};
        addValue(family, labels, f.about.by, std::invoke(f.get, *item));
      }
      out += family.text();
    }
  });
  return out;
}

std::string stepCounts(const StepsInfo& s) {
  return Family("steps", "", "Steps seen: of the run, and of the window after warm-up.")
      .add({{"of", "run"}}, s.count)
      .add({{"of", "window"}}, s.windowCount)
      .text();
}

std::string lossCounts(const CoverageInfo& coverage) {
  Family family("coverage_losses", "", "What was lost of the recording, by its cause.");
  for (const auto& [name, count] : coverage.losses) family.add({{"name", name}}, count);
  return family.text();
}

std::string findingMetrics(const std::vector<Finding>& findings) {
  std::vector<const Finding*> items;
  Family gain(
      "finding_predicted_speedup", "",
      "Old by new time with the finding's first advice; low and high are a 90 % interval, or, "
      "assumed, high is the most.");
  Family measured(
      "finding_measured_speedup", "",
      "The same as trials measured it (stallprof verify); low and high are its bounds.");
  for (const Finding& finding : findings) {
    items.push_back(&finding);
    if (finding.advice.empty()) continue;
    const Advice& advice = finding.advice.front();
    measured.add({{"id", finding.id}, {"bound", "middle"}}, advice.measured)
        .add({{"id", finding.id}, {"bound", "low"}}, advice.measuredLow)
        .add({{"id", finding.id}, {"bound", "high"}}, advice.measuredHigh);
    const Prediction& p = finding.advice.front().predicted;
    const std::string basis(nameOf(p.basis));
    gain.add({{"id", finding.id}, {"bound", "middle"}, {"basis", basis}}, p.speedup)
        .add({{"id", finding.id}, {"bound", "low"}, {"basis", basis}}, p.low)
        .add({{"id", finding.id}, {"bound", "high"}, {"basis", basis}}, p.high);
  }
  return families<Finding>("finding", items, "id",
                           [](const Finding& f) -> std::string_view { return f.id; }) +
         gain.text() + measured.text();
}

std::string deviceMetrics(const DeviceInfo& device) {
  using Device = DeviceInfo::Device;
  std::vector<const Device*> items;
  for (const Device& d : device.devices) items.push_back(&d);
  return families<Device>("device", items, "device",
                          [](const Device& d) -> std::string_view { return d.id; });
}

}  // namespace

std::string openMetrics(const Analysis& a) {
  return runInfo(a) + families<RunInfo>("run", {&a.run}) + verdictInfo(a.verdict) +
         lossCounts(a.coverage) + families<Verdict>("verdict", {&a.verdict}) + stepCounts(a.steps) +
         families<StepsInfo>("steps", {&a.steps}) +
         families<Breakdown>("breakdown", {&a.breakdown}) +
         families<Resources>("resources", {&a.resources}) + findingMetrics(a.findings) +
         (a.device ? deviceMetrics(*a.device) : std::string()) + "# EOF\n";
}

}  // namespace stallprof
