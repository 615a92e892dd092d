// SPDX-License-Identifier: MIT
#include "present/openmetrics.h"

#include <cmath>
#include <cstdio>
#include <initializer_list>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "stallprof/version.h"

namespace stallprof {
namespace {

constexpr std::size_t kLongestLabel = 300;  // bytes; a label is an index of the collector's

using Labels = std::initializer_list<std::pair<const char*, std::string_view>>;

std::string labelText(Labels labels) {
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

  Family& add(Labels labels, const Maybe<double>& value) {
    if (!value || !std::isfinite(*value)) return *this;
    const std::string text = labelText(labels);
    if (!seen_.insert(text).second) return *this;  // two samples of one name make the text invalid
    char number[40];
    std::snprintf(number, sizeof number, " %.9g\n", *value);
    samples_ += name_ + text + number;
    return *this;
  }
  Family& add(Labels labels, double value) { return add(labels, Maybe<double>(value)); }
  Family& add(Labels labels, Nanos value) { return add(labels, seconds(value)); }
  Family& add(Labels labels, std::int64_t value) { return add(labels, static_cast<double>(value)); }
  Family& add(Labels labels, const Maybe<std::int64_t>& value) {
    return value ? add(labels, *value) : *this;
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

// What is no number: always 1, told by its labels.
std::string info(const std::string& name, const std::string& help, Labels labels) {
  const std::string full = "stallprof_" + name;
  return "# TYPE " + full + " info\n# HELP " + full + " " + help + "\n" + full + "_info" +
         labelText(labels) + " 1\n";
}

std::string runMetrics(const Analysis& a) {
  std::vector<std::string> words;
  for (const Untrusted& word : a.run.command) {
    words.push_back(word.raw());
    if (words.size() == 20) break;  // longer than a label anyway
  }
  return info("run", "What ran, and what says so.",
              {{"command", joinShell(words)},
               {"framework", a.run.framework.value_or("")},
               {"version", STALLPROF_VERSION}}) +
         Family("run_wall_seconds", "seconds", "Wall time of the command.")
             .add({}, a.run.wall)
             .text();
}

std::string verdictMetrics(const Verdict& v) {
  std::string_view healthy = "unknown";
  if (v.healthy) healthy = *v.healthy ? "true" : "false";
  return info("verdict", "What bounds the run.",
              {{"bound_by", v.boundBy},
               {"healthy", healthy},
               {"confidence", nameOf(v.confidence)}}) +
         Family("verdict_au_ratio", "ratio", "Compute, of the window.").add({}, v.auRatio).text() +
         Family("verdict_stall_ratio", "ratio", "Time that a replay with data ready did not take.")
             .add({}, v.stallRatio)
             .text();
}

std::string stepMetrics(const StepsInfo& s) {
  Family time("steps_time_seconds", "seconds", "Time of a step; boundaries of passes set apart.");
  if (s.time)
    time.add({{"stat", "mean"}}, s.time->mean)
        .add({{"stat", "p50"}}, s.time->p50)
        .add({{"stat", "p95"}}, s.time->p95)
        .add({{"stat", "p99"}}, s.time->p99);
  return Family("steps", "", "Steps seen: of the run, and of the window after warm-up.")
             .add({{"of", "run"}}, s.count)
             .add({{"of", "window"}}, s.windowCount)
             .text() +
         Family("steps_rate_per_second", "", "Steps a second in the window.")
             .add({}, s.ratePerSecond)
             .text() +
         Family("steps_samples_per_second", "", "Samples a second in the window.")
             .add({}, s.samplesPerSecond)
             .text() +
         time.text();
}

std::string shareMetrics(const Breakdown& b) {
  Family own("breakdown_ratio", "ratio", "The trainer's time by what it did; sums to 1.");
  if (const auto& r = b.ratio)
    own.add({{"part", "compute"}}, r->compute)
        .add({{"part", "data_wait"}}, r->dataWait)
        .add({{"part", "load"}}, r->load)
        .add({{"part", "sync"}}, r->sync)
        .add({{"part", "comm"}}, r->comm)
        .add({{"part", "periodic"}}, r->periodic)
        .add({{"part", "other"}}, r->other);
  Family blamed("breakdown_data_wait_blame_ratio", "ratio",
                "Data waits by what the batch that was waited for needed; sums to data_wait.");
  if (const auto& r = b.blame)
    blamed.add({{"cause", "extract"}}, r->extract)
        .add({{"cause", "transform"}}, r->transform)
        .add({{"cause", "load"}}, r->load)
        .add({{"cause", "startup"}}, r->startup)
        .add({{"cause", "unknown"}}, r->unknown);
  Family phases("breakdown_phase_ratio", "ratio", "Own time and blamed waits by phase; sums to 1.");
  if (const auto& r = b.phase)
    phases.add({{"phase", "extract"}}, r->extract)
        .add({{"phase", "transform"}}, r->transform)
        .add({{"phase", "load"}}, r->load)
        .add({{"phase", "compute"}}, r->compute)
        .add({{"phase", "sync"}}, r->sync)
        .add({{"phase", "comm"}}, r->comm)
        .add({{"phase", "periodic"}}, r->periodic)
        .add({{"phase", "other"}}, r->other)
        .add({{"phase", "unknown"}}, r->unknown);
  return own.text() + blamed.text() + phases.text() +
         Family("breakdown_hidden_wait_ratio", "ratio", "Data waits while a device worked.")
             .add({}, b.hiddenWaitRatio)
             .text();
}

template <class T>
std::string one(const std::string& name, const std::string& unit, const std::string& help,
                const Maybe<T>& value) {
  return Family(name, unit, help).add({}, value).text();
}

std::string resourceMetrics(const Resources& r) {
  Family roles("resources_role_cpu_ratio", "ratio", "CPU by role, of the usable cores.");
  for (const auto& [role, share] : r.roleCpuRatio) roles.add({{"role", role}}, share);
  return one("resources_cpu_ratio", "ratio", "CPU, of the usable cores.", r.cpuRatio) +
         roles.text() +
         one("resources_gpu_busy_ratio", "ratio", "Time with work on a GPU.", r.gpuBusyRatio) +
         one("resources_read_bytes_per_second", "", "Read from storage.", r.readBytesPerSecond) +
         one("resources_write_bytes_per_second", "", "Written to storage.", r.writeBytesPerSecond) +
         one("resources_net_bytes_per_second", "", "Received.", r.netBytesPerSecond) +
         one("resources_cache_hit_ratio", "ratio", "Reads that the page cache served.",
             r.cacheHitRatio) +
         one("resources_peak_rss_bytes", "bytes", "Most resident memory.", r.peakRssBytes) +
         one("resources_worker_rss_bytes", "bytes", "Resident memory of workers.",
             r.workerRssBytes) +
         one("resources_shm_bytes", "bytes", "Used of /dev/shm.", r.shmBytes);
}

std::string findingMetrics(const std::vector<Finding>& findings) {
  Family rank("finding_rank", "", "Findings by predicted gain and confidence; 1 is first.");
  Family share("finding_share_ratio", "ratio", "Share of the window.");
  Family gain("finding_predicted_speedup", "",
              "Old by new time with the finding's first advice; low and high are a 90 % interval.");
  for (const Finding& finding : findings) {
    rank.add({{"id", finding.id}}, std::int64_t{finding.rank});
    share.add({{"id", finding.id}}, finding.shareRatio);
    if (finding.advice.empty()) continue;
    const Prediction& p = finding.advice.front().predicted;
    gain.add({{"id", finding.id}, {"bound", "middle"}}, p.speedup)
        .add({{"id", finding.id}, {"bound", "low"}}, p.low)
        .add({{"id", finding.id}, {"bound", "high"}}, p.high);
  }
  return rank.text() + share.text() + gain.text();
}

std::string deviceMetrics(const DeviceInfo& device) {
  Family busy("device_busy_ratio", "ratio", "Traced time with the trainer's work on the device.");
  Family time("device_time_ratio", "ratio", "The device's traced time; sums to 1.");
  Family power("device_power_watts", "watts", "Mean power.");
  Family peak("device_memory_peak_bytes", "bytes", "Most memory in use, of all processes.");
  for (const DeviceInfo::Device& d : device.devices) {
    busy.add({{"device", d.id}}, d.busy);
    if (d.time)
      time.add({{"device", d.id}, {"part", "kernels"}}, d.time->kernels)
          .add({{"device", d.id}, {"part", "copies"}}, d.time->copies)
          .add({{"device", d.id}, {"part", "collectives"}}, d.time->collectives)
          .add({{"device", d.id}, {"part", "idle"}}, d.time->idle);
    power.add({{"device", d.id}}, d.powerWatts);
    peak.add({{"device", d.id}}, d.memoryPeak);
  }
  return busy.text() + time.text() + power.text() + peak.text();
}

}  // namespace

std::string openMetrics(const Analysis& a) {
  return runMetrics(a) + verdictMetrics(a.verdict) + stepMetrics(a.steps) +
         shareMetrics(a.breakdown) + resourceMetrics(a.resources) + findingMetrics(a.findings) +
         (a.device ? deviceMetrics(*a.device) : std::string()) + "# EOF\n";
}

}  // namespace stallprof
