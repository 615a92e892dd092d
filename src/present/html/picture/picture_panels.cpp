// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "analysis/facts/ended_children.h"
#include "base/units.h"
#include "present/html/picture/buckets.h"
#include "present/html/picture/picture.h"

namespace stallprof {
namespace {

constexpr double kMaxBuckets = 240;
constexpr double kBucketSeconds = 1;  // counters are read once a second
constexpr std::size_t kMaxEpochMarks = 60;

struct RoleName {
  Role role;
  const char* name;
  Hue hue;
};
constexpr std::array<RoleName, 3> kRoles = {{{Role::kTrainer, "trainer", Hue::kFirst},
                                             {Role::kWorker, "workers", Hue::kSecond},
                                             {Role::kHelper, "other processes", Hue::kThird}}};

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
  Panel panel{.title = "CPU by role", .unit = Panel::Unit::kCores};
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
  Panel panel{.title = "Resident memory by role",
              .note = "Pages that processes share are counted in each of them.",
              .unit = Panel::Unit::kBytes};
  byRole(panel, trace, analyzed, axis, [&](Buckets& buckets, const ProcessLife& process) {
    spreadLevel(buckets, process.usage, &ProcessUsage::residentBytes,
                std::min(process.gone, axis.end));
  });
  return panel;
}

// Two ways that bytes went: `fill` spreads what is known of both.
template <class Fill>
Panel bytesPanel(const char* title, const char* note, const TimeAxis& axis, const char* in,
                 const char* out, Fill fill) {
  Panel panel{.title = title, .note = note, .unit = Panel::Unit::kBytesPerSecond};
  Buckets into(axis), outOf(axis);
  fill(into, outOf);
  keep(panel, in, Hue::kFirst, into);
  keep(panel, out, Hue::kSecond, outOf);
  return panel;
}

Panel storagePanel(const Trace& trace, const TimeAxis& axis) {
  return bytesPanel("Storage",
                    "Bytes transferred to and from devices by this job, without the page cache.",
                    axis, "read", "written", [&](Buckets& read, Buckets& written) {
                      const EndedChildren ended(trace);
                      for (const ProcessLife& process : trace.processes) {
                        const Table<ProcessUsage> own = ended.ownOf(process);
                        spreadGrowth(read, own, &ProcessUsage::readBytes, 1, process.seen);
                        spreadGrowth(written, own, &ProcessUsage::writeBytes, 1, process.seen);
                      }
                    });
}

Panel networkPanel(const Trace& trace, const TimeAxis& axis) {
  std::map<StringId, Table<NetworkUsage>> interfaces;
  for (const auto& row : trace.networks)
    if (trace.text(row.data.interface) != "lo") interfaces[row.data.interface].push_back(row);
  return bytesPanel("Network", "Of the whole host, without its loopback.", axis, "received", "sent",
                    [&](Buckets& received, Buckets& sent) {
                      for (const auto& [id, table] : interfaces) {
                        spreadGrowth(received, table, &NetworkUsage::receivedBytes, 1);
                        spreadGrowth(sent, table, &NetworkUsage::sentBytes, 1);
                      }
                    });
}

Panel queuePanel(const TrainerFacts& trainer, const TimeAxis& axis) {
  Panel panel{.title = "Batches ready when the trainer requests one",
              .note = "At 0 the trainer waits.",
              .unit = Panel::Unit::kBatches};
  Buckets ready(axis), held(axis);  // of long runs some steps alone are
  for (const Step& step : trainer.steps)
    if (step.ready >= 0) {
      ready.level(step.begin, step.end, step.ready);
      held.level(step.begin, step.end, 1);
    }
  if (!trainer.workers.empty() && ready.any())
    panel.series.push_back({"ready", Hue::kFirst, ready.over(held)});
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
  axis.begin = trace.begin;
  axis.end = trace.end;
  const double length = seconds(trace.end - trace.begin);
  if (length <= 0) return;
  axis.buckets = static_cast<std::size_t>(std::clamp(length / kBucketSeconds, 1.0, kMaxBuckets));
  std::size_t epochs = 0;
  for (const Epoch& epoch : analyzed.trainer.epochs)
    if (!epoch.evaluation && epoch.steps > 0 && epochs++ < kMaxEpochMarks)
      axis.marked.emplace_back(seconds(epoch.begin - axis.begin) / length,
                               seconds(epoch.end - axis.begin) / length);
  if (epochs > kMaxEpochMarks) axis.marked.clear();
  for (Panel& panel :
       std::array<Panel, 5>{cpuPanel(trace, analyzed, axis), queuePanel(analyzed.trainer, axis),
                            memoryPanel(trace, analyzed, axis), storagePanel(trace, axis),
                            networkPanel(trace, axis)})
    if (somethingIn(panel)) picture.panels.push_back(std::move(panel));
  for (Panel& panel : drawDevicePanels(trace, analyzed.trainer, axis))
    if (somethingIn(panel)) picture.panels.push_back(std::move(panel));
}

}  // namespace stallprof
