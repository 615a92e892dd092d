// SPDX-License-Identifier: MIT
#include "experiment/trials_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/text.h"

namespace stallprof {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLargestFile = 16u << 20;  // it is kilobytes

template <class T>
Json numberOrNull(const Maybe<T>& v) {
  return v ? Json(*v) : Json();
}

Maybe<double> numberOf(const Json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_number() ? Maybe<double>(at->get<double>()) : std::nullopt;
}

// A time or a factor: the file may be damaged.
bool plausible(double value) { return value > 0 && value < 1e6; }

Maybe<double> factorOf(const Json& object, const char* name) {
  const Maybe<double> value = numberOf(object, name);
  return value && plausible(*value) ? value : std::nullopt;
}

std::string textOf(const Json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

template <class T, class Is>
std::vector<T> listOf(const Json& object, const char* name, Is is) {
  std::vector<T> out;
  const auto at = object.find(name);
  if (at == object.end() || !at->is_array()) return out;
  for (const Json& item : *at)
    if (is(item)) out.push_back(item.get<T>());
  return out;
}

std::vector<double> timesOf(const Json& object, const char* name) {
  return listOf<double>(object, name, [](const Json& item) {
    return item.is_number() && plausible(item.get<double>());
  });
}
std::vector<std::string> textsOf(const Json& object, const char* name) {
  return listOf<std::string>(object, name, [](const Json& item) { return item.is_string(); });
}

Json written(const std::vector<std::string>& texts) {
  Json out = Json::array();
  for (const std::string& text : texts) out.push_back(toUtf8(text));
  return out;
}

Json written(const Trial& t) {
  return {{"finding", t.finding},
          {"advice", t.advice},
          {"options", written(t.options)},
          {"predicted",
           {{"speedup", numberOrNull(t.predicted.speedup)},
            {"low", numberOrNull(t.predicted.low)},
            {"high", numberOrNull(t.predicted.high)},
            {"basis", nameOf(t.predicted.basis)}}},
          {"base_step_s", t.base},
          {"fix_step_s", t.fix},
          {"speedup", numberOrNull(t.speedup)},
          {"low", numberOrNull(t.low)},
          {"high", numberOrNull(t.high)},
          {"verdict", nameOf(t.verdict)},
          {"why", toUtf8(t.why)},
          {"more_bytes", numberOrNull(t.moreBytes)}};
}

Json written(const TunedTrial& tuned) {
  const Tuned& t = tuned.found;
  Json settings = Json::array();
  for (const TunedSetting& s : t.settings)
    settings.push_back({{"num_workers", s.workers},
                        {"prefetch_factor", numberOrNull(s.prefetch)},
                        {"threads", numberOrNull(s.threads)},
                        {"steps_per_s", numberOrNull(s.stepsPerSecond)},
                        {"predicted_steps_per_s", numberOrNull(s.predicted)},
                        {"peak_rss_bytes", numberOrNull(s.peakBytes)},
                        {"why", toUtf8(s.why)}});
  return {{"file", toUtf8(t.where.file.raw())}, {"line", t.where.line},
          {"settings", std::move(settings)},    {"compared", t.compared},
          {"change", toUtf8(t.change)},         {"why", toUtf8(t.why)},
          {"trial", written(tuned.trial)}};
}

Trial trialFrom(const Json& object) {
  Trial t;
  t.finding = textOf(object, "finding");
  t.advice = textOf(object, "advice");
  t.options = textsOf(object, "options");
  if (const auto at = object.find("predicted"); at != object.end() && at->is_object()) {
    t.predicted.speedup = factorOf(*at, "speedup");
    t.predicted.low = factorOf(*at, "low");
    t.predicted.high = factorOf(*at, "high");
    if (textOf(*at, "basis") == nameOf(Basis::kAssumed)) t.predicted.basis = Basis::kAssumed;
  }
  t.base = timesOf(object, "base_step_s");
  t.fix = timesOf(object, "fix_step_s");
  t.speedup = factorOf(object, "speedup");
  t.low = factorOf(object, "low");
  t.high = factorOf(object, "high");
  const std::string verdict = textOf(object, "verdict");
  for (const TrialVerdict known :
       {TrialVerdict::kGain, TrialVerdict::kNoGain, TrialVerdict::kSlower, TrialVerdict::kFailed})
    if (verdict == nameOf(known)) t.verdict = known;
  t.why = textOf(object, "why");
  t.moreBytes = numberOf(object, "more_bytes");
  return t;
}

// What is no whole number of a type is left out: the file may be damaged.
template <class T>
Maybe<T> wholeOf(const Json& object, const char* name) {
  const Maybe<double> value = numberOf(object, name);
  const bool fits = value && *value >= 0 && *value <= 1e15 &&
                    *value <= static_cast<double>(std::numeric_limits<T>::max());
  return fits ? Maybe<T>(static_cast<T>(*value)) : std::nullopt;
}

TunedSetting settingFrom(const Json& object) {
  TunedSetting s;
  s.workers = wholeOf<std::int32_t>(object, "num_workers").value_or(0);
  s.prefetch = wholeOf<std::int32_t>(object, "prefetch_factor");
  s.threads = wholeOf<std::int32_t>(object, "threads");
  s.stepsPerSecond = numberOf(object, "steps_per_s");
  s.predicted = numberOf(object, "predicted_steps_per_s");
  s.peakBytes = wholeOf<std::int64_t>(object, "peak_rss_bytes");
  s.why = textOf(object, "why");
  return s;
}

constexpr std::size_t kMaxSettings = 64;  // far more than tune runs: a damaged file

// Null where it is none: the one that was compared is among the settings.
Maybe<TunedTrial> tunedFrom(const Json& object) {
  TunedTrial tuned;
  Tuned& t = tuned.found;
  t.where.file = Untrusted(textOf(object, "file"));
  t.where.line = wholeOf<std::uint32_t>(object, "line").value_or(0);
  if (const auto at = object.find("settings"); at != object.end() && at->is_array())
    for (const Json& item : *at)
      if (item.is_object() && t.settings.size() < kMaxSettings)
        t.settings.push_back(settingFrom(item));
  t.compared = wholeOf<std::uint32_t>(object, "compared").value_or(0);
  t.change = textOf(object, "change");
  t.why = textOf(object, "why");
  if (const auto at = object.find("trial"); at != object.end() && at->is_object())
    tuned.trial = trialFrom(*at);
  settle(tuned);
  return t.compared < t.settings.size() ? Maybe<TunedTrial>(std::move(tuned)) : std::nullopt;
}

}  // namespace

std::string trialsJson(const Trials& trials) {
  Json out = {{"schema", kTrialsSchema},
              {"in_place", trials.inPlace},
              {"window_s", trials.windowSeconds},
              {"replay_step_s", numberOrNull(trials.replayStep)},
              {"drain_step_s", numberOrNull(trials.drainStep)},
              {"trials", Json::array()},
              {"notes", written(trials.notes)}};
  for (const Trial& trial : trials.trials) out["trials"].push_back(written(trial));
  if (trials.tuned) out["tune"] = written(*trials.tuned);
  if (trials.tunedLast) out["tune_last"] = true;
  return out.dump(1) + "\n";
}

Result<Trials> parseTrials(const std::string& json) {
  const Json object = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object() || textOf(object, "schema") != kTrialsSchema)
    return Error{Error::Kind::kDamaged, std::string("no trials of schema ") + kTrialsSchema};
  Trials trials;
  trials.inPlace = object.value("in_place", Json()) == Json(true);
  trials.windowSeconds = numberOf(object, "window_s").value_or(0);
  trials.replayStep = numberOf(object, "replay_step_s");
  trials.drainStep = numberOf(object, "drain_step_s");
  trials.notes = textsOf(object, "notes");
  if (const auto at = object.find("trials"); at != object.end() && at->is_array())
    for (const Json& item : *at)
      if (item.is_object()) trials.trials.push_back(trialFrom(item));
  if (const auto at = object.find("tune"); at != object.end() && at->is_object())
    trials.tuned = tunedFrom(*at);
  trials.tunedLast = object.value("tune_last", Json()) == Json(true);
  return trials;
}

Result<Maybe<Trials>> readTrials(const std::string& directory) {
  const std::string path = directory + "/" + kTrialsFile;
  if (struct stat status{}; ::lstat(path.c_str(), &status) != 0 && errno == ENOENT)
    return Maybe<Trials>();
  const auto text = readRegularFile(path, kLargestFile);
  if (!text.ok()) return text.error();
  auto trials = parseTrials(text.value());
  if (!trials.ok()) return std::move(trials).error().within("'" + path + "'");
  return Maybe<Trials>(std::move(trials).value());
}

}  // namespace stallprof
