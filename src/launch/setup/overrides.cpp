// SPDX-License-Identifier: MIT
#include "launch/setup/overrides.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/secrets.h"

namespace stallprof {
namespace {

struct Setting {
  std::string_view name;
  bool number = false;  // else true or false
  unsigned minimum = 0;
  bool automatic = false;  // or "auto": TensorFlow chooses
};
constexpr std::array<Setting, 11> kSettings = {{
    {"num_workers", true, 0},  // PyTorch's DataLoader
    {"prefetch_factor", true, 1},
    {"persistent_workers"},
    {"pin_memory"},
    {"in_order"},
    {"num_parallel_calls", true, 1, true},  // tf.data
    {"prefetch", true, 1, true},
    {"private_threadpool_size", true, 1},
    {"workers", true, 0},  // Keras' PyDataset
    {"max_queue_size", true, 1},
    {"fused"},  // PyTorch's optimizers
}};
// Far above what any host can start.
constexpr unsigned kMaxNumber = 4096;

// Read by OpenMP and PyTorch, MKL, OpenBLAS, OpenCV and numexpr when they are loaded.
constexpr std::array<std::string_view, 5> kThreadVariables = {
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OPENCV_FOR_THREADS_NUM",
    "NUMEXPR_NUM_THREADS"};

Error refused(const std::string& why) { return {Error::Kind::kUsage, why}; }

std::string settingNames() {
  std::string names;
  for (const Setting& setting : kSettings)
    names += (names.empty() ? "" : ", ") + std::string(setting.name);
  return names;
}

// Of one that is there the value is replaced.
void set(std::vector<std::string>& environment, std::string_view name, std::string_view value) {
  std::erase_if(environment, [&](const std::string& word) {
    return word.size() > name.size() && word.starts_with(name) && word[name.size()] == '=';
  });
  environment.push_back(std::string(name) + "=" + std::string(value));
}

}  // namespace

Result<std::pair<std::string, std::string>> parseSetting(std::string_view word) {
  const std::size_t equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  const auto setting = std::find_if(kSettings.begin(), kSettings.end(),
                                    [&](const Setting& known) { return known.name == name; });
  if (equals == std::string_view::npos || setting == kSettings.end())
    return refused("--set takes NAME=VALUE with one of " + settingNames() + ", not " +
                   inQuotes(word));
  std::string value(word.substr(equals + 1));
  if (setting->automatic && value == "auto") return std::pair(std::string(name), value);
  if (setting->number) {
    unsigned number = 0;
    const char* end = value.data() + value.size();
    const auto [stop, error] = std::from_chars(value.data(), end, number);
    if (error != std::errc() || stop != end || number < setting->minimum || number > kMaxNumber)
      return refused("--set " + std::string(name) + " takes a whole number from " +
                     std::to_string(setting->minimum) + " to " + std::to_string(kMaxNumber) +
                     (setting->automatic ? ", or auto" : "") + ", not " + inQuotes(value));
    return std::pair(std::string(name), std::to_string(number));
  }
  if (value == "True" || value == "1") value = "true";
  if (value == "False" || value == "0") value = "false";
  if (value != "true" && value != "false")
    return refused("--set " + std::string(name) + " takes true or false, not " + inQuotes(value));
  return std::pair(std::string(name), value);
}

Status checkVariable(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return refused("--env takes NAME=VALUE, not " + inQuotes(word));
  return Done{};
}

std::vector<std::string> withOverrides(const std::vector<std::string>& environment,
                                       const Overrides& overrides) {
  std::vector<std::string> words = environment;
  std::erase_if(words, [](const std::string& word) {  // of an outer run
    const std::string_view name = std::string_view(word).substr(0, word.find('='));
    return name == kOverridesVariable || name == kSupervisedVariable;
  });
  if (overrides.threads > 0)
    for (const std::string_view name : kThreadVariables)
      set(words, name, std::to_string(overrides.threads));
  for (const std::string& word : overrides.env) {
    const std::size_t equals = word.find('=');
    set(words, word.substr(0, equals), word.substr(equals + 1));
  }
  std::string lines;
  for (const auto& [name, value] : overrides.settings) lines += name + "=" + value + "\n";
  if (!overrides.loaderAt.empty()) lines += "loader=" + overrides.loaderAt + "\n";
  const auto number = [&](std::string_view name, unsigned value) {
    if (value > 0) lines += std::string(name) + "=" + std::to_string(value) + "\n";
  };
  number("threads", overrides.threads);
  number(kReplaySetting, overrides.replay);
  number(kDrainSetting, overrides.drain);
  if (overrides.replay > 0 && overrides.ends()) lines += "ends=1\n";
  if (overrides.drain > 0 && overrides.fromUpdate) lines += "trains=1\n";
  if (!lines.empty()) set(words, kOverridesVariable, lines);
  return words;
}

std::vector<std::string> namesOf(const Overrides& overrides) {
  std::vector<std::string> names;
  for (const auto& [name, value] : overrides.settings) names.push_back(name);
  if (overrides.replay > 0) names.emplace_back(kReplaySetting);
  if (overrides.drain > 0) names.emplace_back(kDrainSetting);
  return names;
}

std::vector<Untrusted> wordsOf(const Overrides& overrides) {
  std::vector<Untrusted> words;
  const auto add = [&](const char* option, std::string value) {
    words.emplace_back(option);
    words.emplace_back(std::move(value));
  };
  for (const auto& [name, value] : overrides.settings) add("--set", name + "=" + value);
  if (!overrides.loaderAt.empty()) add("--loader", overrides.loaderAt);
  const auto number = [&](const char* option, unsigned value) {
    if (value > 0) add(option, std::to_string(value));
  };
  if (overrides.replay > 0) words.emplace_back("--replay=" + std::to_string(overrides.replay));
  if (overrides.drain > 0) words.emplace_back("--drain=" + std::to_string(overrides.drain));
  number("--steps", overrides.steps);
  number("--for", overrides.seconds);
  if (overrides.fromUpdate) add("--count-from", kFromUpdate);
  number("--threads", overrides.threads);
  for (const std::string& word : overrides.env) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    add("--env", name + "=" + maskSecret(name, word.substr(equals + 1)));
  }
  return words;
}

}  // namespace stallprof
