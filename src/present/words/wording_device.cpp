// SPDX-License-Identifier: MIT
#include "present/words/wording_device.h"

#include <algorithm>
#include <array>

#include "base/units.h"
#include "present/words/wording.h"

namespace stallprof {
namespace {

constexpr double kWorthShowing = 0.005;
constexpr std::size_t kMaxNamed = 4, kLongestKernel = 44;

std::string cutName(const std::string& name) {
  return name.size() <= kLongestKernel ? name : name.substr(0, kLongestKernel - 3) + "...";
}

std::string nameOf(std::size_t index, std::size_t count) {
  return count < 2 ? std::string() : "GPU " + std::to_string(index) + " ";
}

void addTimes(const DeviceInfo& info, std::vector<DeviceLine>& lines) {
  for (std::size_t i = 0; i < std::min(info.devices.size(), kMaxNamed); ++i) {
    const DeviceInfo::Device& d = info.devices[i];
    if (!d.time || !d.idle) continue;
    const std::string name = nameOf(i, info.devices.size());
    const std::array ratios{1 - d.time->idle, d.time->idle};
    const std::vector<std::string> texts = percentTexts(ratios);
    const std::vector<int> wholes = apportioned(ratios, 100);
    const auto line = [&](const char* what, std::size_t which, const std::vector<IdlePart>& parts) {
      DeviceLine out{name + what, {texts[which]}};
      std::vector<double> all;
      for (const IdlePart& p : parts) all.push_back(p.ratio);
      const std::vector<std::string> partTexts = percentTextsOf(wholes[which], all);
      for (std::size_t k = 0; k < parts.size(); ++k)
        if (parts[k].ratio >= kWorthShowing)
          out.parts.push_back(parts[k].name + (" " + partTexts[k]));
      lines.push_back(std::move(out));
    };
    line("busy", 0,
         {{"kernels", d.time->kernels, ""},
          {"only copies", d.time->copies, ""},
          {"only collectives", d.time->collectives, ""}});
    line("idle", 1, idleParts(*d.idle));
  }
  if (info.devices.size() > kMaxNamed)
    lines.push_back({"",
                     {"and " + std::to_string(info.devices.size() - kMaxNamed) +
                      " more devices in the JSON report"}});
}

void addKernels(const DeviceInfo& info, std::vector<DeviceLine>& lines) {
  if (info.categories.empty()) return;
  DeviceLine line{"kernels", {}};
  for (std::size_t i = 0; i < std::min(info.categories.size(), kMaxNamed); ++i)
    line.parts.push_back(info.categories[i].name + " " + percentText(info.categories[i].ratio));
  if (!info.kernels.empty()) {
    const DeviceInfo::Kernel& longest = info.kernels[0];
    const auto count = static_cast<Nanos::rep>(std::max<std::uint64_t>(1, longest.count));
    line.parts.push_back("longest " + cutName(longest.name.raw()) + " " +
                         percentText(longest.ratio) + ", " + durationText(longest.time / count) +
                         " each");
  }
  lines.push_back(std::move(line));
}

void addCopies(const DeviceInfo& info, std::vector<DeviceLine>& lines) {
  DeviceLine line{"copies", {}};
  for (const DeviceInfo::Copy& c : info.copies)
    if (c.bytesPerSecond && line.parts.size() < kMaxNamed)
      line.parts.push_back(copyText(c) + " " + rateText(*c.bytesPerSecond, "bytes"));
  if (!line.parts.empty()) lines.push_back(std::move(line));
}

void addState(const DeviceInfo& info, std::vector<DeviceLine>& lines) {
  if (info.devices.empty()) return;
  const DeviceInfo::Device& d = info.devices[0];
  DeviceLine line{info.devices.size() < 2 ? "device" : nameOf(0, 2) + "state", {}};
  if (d.memoryPeak && d.memoryTotal)
    line.parts.push_back("memory " + bytesText(static_cast<double>(*d.memoryPeak)) + " of " +
                         bytesText(static_cast<double>(*d.memoryTotal)) + " at its peak");
  const auto part = [&](const char* what, const Maybe<double>& ratio) {
    if (ratio) line.parts.push_back(std::string(what) + " " + percentText(*ratio));
  };
  part("SMs active", d.smActive);
  part("tensor cores", d.tensorActive);
  if (d.powerWatts) line.parts.push_back(numberText(*d.powerWatts) + " W");
  if (d.clockMhz) line.parts.push_back(numberText(*d.clockMhz) + " MHz");
  if (d.throttled.value_or(0) >= kWorthShowing) part("throttled", d.throttled);
  if (!line.parts.empty()) lines.push_back(std::move(line));
}

}  // namespace

std::vector<IdlePart> idleParts(const DeviceInfo::IdleRatio& i) {
  std::vector<IdlePart> parts = {{"data: extract", i.extract, "extract"},
                                 {"data: transform", i.transform, "transform"},
                                 {"data: load", i.load, "load"},
                                 {"data: unknown", i.unknown, "unknown"},
                                 {"copying from the host", i.copy, "copy"},
                                 {"after a sync", i.sync, "sync"},
                                 {"launching", i.launch, "launch"},
                                 {"other host work", i.host, "host"},
                                 {"collectives", i.comm, "comm"},
                                 {"checkpoint", i.checkpoint, "checkpoint"},
                                 {"evaluation", i.evaluation, "evaluation"},
                                 {"other", i.other, "other"}};
  std::stable_sort(parts.begin(), parts.end(),
                   [](const IdlePart& a, const IdlePart& b) { return a.ratio > b.ratio; });
  return parts;
}

std::string copyText(const DeviceInfo::Copy& c) {
  std::string kind = c.kind;
  std::replace(kind.begin(), kind.end(), '_', ' ');
  return c.memory == "unknown" ? kind : kind + ", " + c.memory;
}

std::vector<DeviceLine> deviceLines(const Analysis& a) {
  std::vector<DeviceLine> lines;
  if (!a.device) return lines;
  addTimes(*a.device, lines);
  addKernels(*a.device, lines);
  addCopies(*a.device, lines);
  addState(*a.device, lines);
  if (a.device->estimated && !lines.empty())
    lines[0].parts.push_back("of the " + percentText(a.device->tracedRatio.value_or(0)) + " " +
                             windowText(a.breakdown) + " that was traced");
  return lines;
}

}  // namespace stallprof
