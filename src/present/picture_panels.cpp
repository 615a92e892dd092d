// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "analysis/usage.h"
#include "present/picture.h"
#include "present/units.h"

namespace stallprof {
namespace {

constexpr double kMostBuckets = 240;
constexpr double kBucketSeconds = 1;  // counters are read once a second
constexpr double kUnmeasured = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kMostEpochMarks = 60;

// What happened in each bucket of a time axis: amounts are spread over the stretch they are of.
class Buckets {
 public:
  explicit Buckets(const TimeAxis& axis)
      : begin_(axis.begin),
        each_(seconds(axis.end - axis.begin) /
              static_cast<double>(std::max<std::size_t>(axis.buckets, 1))),
        amounts_(axis.buckets, 0.0),
        known_(axis.buckets, false) {}

  void spread(Nanos from, Nanos to, double amount) {
    if (to <= from || amounts_.empty()) return;
    const double a = place(from), b = place(to);
    for (auto i = static_cast<std::size_t>(a); i < amounts_.size() && static_cast<double>(i) < b;
         ++i) {
      const double low = std::max(a, static_cast<double>(i));
      const double high = std::min(b, static_cast<double>(i) + 1);
      amounts_[i] += amount * (high - low) / (b - a);
      known_[i] = true;
    }
  }

  // A level that holds from one look to the next: its mean over the bucket.
  void level(Nanos from, Nanos to, double value) { spread(from, to, value * seconds(to - from)); }

  [[nodiscard]] bool any() const {
    return std::find(known_.begin(), known_.end(), true) != known_.end();
  }
  // A second's worth of each bucket.
  [[nodiscard]] std::vector<double> rates() const {
    std::vector<double> out;
    for (std::size_t i = 0; i < amounts_.size(); ++i)
      out.push_back(known_[i] && each_ > 0 ? amounts_[i] / each_ : kUnmeasured);
    return out;
  }

 private:
  [[nodiscard]] double place(Nanos at) const {
    if (each_ <= 0) return 0;
    return std::clamp(seconds(at - begin_) / each_, 0.0, static_cast<double>(amounts_.size()));
  }

  Nanos begin_;
  double each_;
  std::vector<double> amounts_;
  std::vector<bool> known_;
};

// The growth of a counter from each look to the next; a process's first look counts from its birth.
template <class P, class Field>
void spreadGrowth(Buckets& buckets, const Table<P>& table, Field field, double unit,
                  Nanos born = Nanos::max()) {
  const Timed<P>* last = nullptr;
  for (const auto& row : table) {
    const auto value = static_cast<double>(counter(row.data.*field));
    if (value < 0) continue;
    if (last != nullptr)
      buckets.spread(last->at, row.at,
                     std::max(0.0, value - static_cast<double>(counter(last->data.*field))) * unit);
    else if (born < row.at)
      buckets.spread(born, row.at, value * unit);
    last = &row;
  }
}

template <class P, class Field>
void spreadLevel(Buckets& buckets, const Table<P>& table, Field field, Nanos end) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    const auto value = static_cast<double>(table[i].data.*field);
    if (value >= 0) buckets.level(table[i].at, i + 1 < table.size() ? table[i + 1].at : end, value);
  }
}

struct RoleName {
  Role role;
  const char* name;
  Hue hue;
};
constexpr std::array<RoleName, 3> kRoles = {{{Role::kTrainer, "trainer", Hue::kFirst},
                                             {Role::kWorker, "workers", Hue::kSecond},
                                             {Role::kHelper, "other processes", Hue::kThird}}};

void keep(Panel& panel, const char* name, Hue hue, const Buckets& buckets) {
  if (buckets.any()) panel.series.push_back({name, hue, buckets.rates()});
}

// A stack of the roles: where one has no process the others go on.
template <class Fill>
void byRole(Panel& panel, const Trace& trace, const Analyzed& analyzed, const TimeAxis& axis,
            Fill fill) {
  panel.stacked = true;
  for (const RoleName& role : kRoles) {
    Buckets buckets(axis);
    for (const ProcessLife& process : trace.processes)
      if (analyzed.roles.of(process.id) == role.role) fill(buckets, process);
    if (!buckets.any()) continue;
    std::vector<double> values = buckets.rates();
    for (double& value : values)
      if (!std::isfinite(value)) value = 0;
    if (std::any_of(values.begin(), values.end(), [](double v) { return v > 0; }))
      panel.series.push_back({role.name, role.hue, std::move(values)});
  }
}

Panel cpuPanel(const Trace& trace, const Analyzed& analyzed, const TimeAxis& axis) {
  Panel panel;
  panel.title = "CPU by role", panel.unit = Panel::Unit::kCores;
  byRole(panel, trace, analyzed, axis, [](Buckets& buckets, const ProcessLife& process) {
    spreadGrowth(buckets, process.usage, &ProcessUsage::cpu, 1e-9, process.seen);
  });
  if (const double cores = analyzed.analysis.run.host.coresUsable; cores > 0) {
    panel.limit = cores;
    panel.limitName = numberText(cores) + " usable";
  }
  return panel;
}

Panel memoryPanel(const Trace& trace, const Analyzed& analyzed, const TimeAxis& axis) {
  Panel panel;
  panel.title = "Resident memory by role", panel.unit = Panel::Unit::kBytes;
  panel.note = "Pages that processes share are counted in each of them.";
  byRole(panel, trace, analyzed, axis, [&](Buckets& buckets, const ProcessLife& process) {
    spreadLevel(buckets, process.usage, &ProcessUsage::residentBytes,
                std::min(process.gone, axis.end));
  });
  return panel;
}

Panel storagePanel(const Trace& trace, const TimeAxis& axis) {
  Panel panel;
  panel.title = "Storage", panel.unit = Panel::Unit::kBytesPerSecond;
  panel.note = "Bytes this job moved to and from devices; what the page cache held is not in it.";
  Buckets read(axis), written(axis);
  for (const ProcessLife& process : trace.processes) {
    spreadGrowth(read, process.usage, &ProcessUsage::readBytes, 1, process.seen);
    spreadGrowth(written, process.usage, &ProcessUsage::writeBytes, 1, process.seen);
  }
  keep(panel, "read", Hue::kFirst, read);
  keep(panel, "written", Hue::kSecond, written);
  return panel;
}

Panel networkPanel(const Trace& trace, const TimeAxis& axis) {
  Panel panel;
  panel.title = "Network", panel.unit = Panel::Unit::kBytesPerSecond;
  panel.note = "Of the whole host, without its loopback.";
  std::map<StringId, Table<NetworkUsage>> interfaces;
  for (const auto& row : trace.networks)
    if (trace.text(row.data.interface) != "lo") interfaces[row.data.interface].push_back(row);
  Buckets received(axis), sent(axis);
  for (const auto& [id, table] : interfaces) {
    spreadGrowth(received, table, &NetworkUsage::receivedBytes, 1);
    spreadGrowth(sent, table, &NetworkUsage::sentBytes, 1);
  }
  keep(panel, "received", Hue::kFirst, received);
  keep(panel, "sent", Hue::kSecond, sent);
  return panel;
}

Panel queuePanel(const TrainerFacts& trainer, const TimeAxis& axis) {
  Panel panel;
  panel.title = "Batches ready when the trainer asks", panel.unit = Panel::Unit::kBatches;
  panel.note = "0 is a trainer that waits.";
  Buckets ready(axis);
  for (const Step& step : trainer.steps)
    if (step.ready >= 0) ready.level(step.begin, step.end, step.ready);
  if (!trainer.workers.empty()) keep(panel, "ready", Hue::kFirst, ready);
  return panel;
}

bool somethingIn(const Panel& panel) {
  for (const Series& series : panel.series)
    if (std::any_of(series.values.begin(), series.values.end(), [](double v) { return v > 0; }))
      return true;
  return false;
}

}  // namespace

void drawPanels(const Trace& trace, const Analyzed& analyzed, Picture& picture) {
  TimeAxis& axis = picture.time;
  axis.begin = trace.begin, axis.end = trace.end;
  const double length = seconds(trace.end - trace.begin);
  if (length <= 0) return;
  axis.buckets = static_cast<std::size_t>(std::clamp(length / kBucketSeconds, 1.0, kMostBuckets));
  std::size_t epochs = 0;
  for (const Pass& pass : analyzed.trainer.passes)
    if (!pass.evaluation && pass.steps > 0 && epochs++ < kMostEpochMarks)
      axis.marked.emplace_back(seconds(pass.begin - axis.begin) / length,
                               seconds(pass.end - axis.begin) / length);
  if (epochs > kMostEpochMarks) axis.marked.clear();
  for (Panel& panel :
       std::array<Panel, 5>{cpuPanel(trace, analyzed, axis), queuePanel(analyzed.trainer, axis),
                            memoryPanel(trace, analyzed, axis), storagePanel(trace, axis),
                            networkPanel(trace, axis)})
    if (somethingIn(panel)) picture.panels.push_back(std::move(panel));
}

}  // namespace stallprof
