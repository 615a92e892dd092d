// SPDX-License-Identifier: MIT
#include <algorithm>

#include "base/units.h"
#include "present/html/html_sections.h"
#include "present/words/wording.h"
#include "present/words/wording_device.h"

namespace stallprof {
namespace {

constexpr std::size_t kMaxDevices = 16;

Hue hueOfIdle(std::string_view path) {
  if (path == "extract") return Hue::kExtract;
  if (path == "transform") return Hue::kTransform;
  if (path == "load" || path == "copy") return Hue::kLoad;
  if (path == "sync") return Hue::kSync;
  if (path == "comm") return Hue::kComm;
  if (path == "checkpoint" || path == "evaluation") return Hue::kPeriodic;
  if (path == "launch") return Hue::kFirst;
  if (path == "host") return Hue::kSecond;
  return path == "unknown" ? Hue::kUnknown : Hue::kOther;
}

// A count of the job's, which may be any: numbers of a page are signed.
std::int64_t counted(std::uint64_t n) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(n, INT64_MAX));
}

struct DevicePart {
  Hue hue;
  std::string name, path;
  double ratio;
  std::string text;
};

// A device's time; the texts are rounded together.
std::vector<DevicePart> partsOf(const DeviceInfo::Device& d) {
  std::vector<DevicePart> parts = {
      {Hue::kCompute, "kernels", ".time_ratio.kernels", d.time->kernels, ""},
      {Hue::kLoad, "only copies", ".time_ratio.copies", d.time->copies, ""},
      {Hue::kComm, "only collectives", ".time_ratio.collectives", d.time->collectives, ""}};
  for (const IdlePart& p : idleParts(*d.idle))
    parts.push_back({hueOfIdle(p.path), std::string("idle: ") + p.name,
                     std::string(".idle_ratio.") + p.path, p.ratio, ""});
  std::vector<double> ratios;
  for (const DevicePart& part : parts) ratios.push_back(part.ratio);
  const std::vector<std::string> texts = percentTexts(ratios);
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i].text = texts[i];
  return parts;
}

void timeOf(Html& html, const DeviceInfo::Device& d, const std::string& path) {
  const std::vector<DevicePart> parts = partsOf(d);
  std::vector<BarPart> bar;
  for (const DevicePart& part : parts) {
    const std::string said = part.name + " " + part.text;
    bar.push_back({part.hue, part.ratio, said, said, false});
  }
  stackedBar(html, bar, "");
  const auto list = html.open("ul", {{"class", "legend"}});
  for (const DevicePart& part : parts) {
    if (part.ratio < 0.005) continue;
    const auto li = html.open("li");
    dot(html, part.hue);
    html.text(part.name + " ");
    figure(html, path + part.path, part.ratio, part.text);
  }
}

void oneDevice(Html& html, const DeviceInfo::Device& d, const std::string& path) {
  {
    const auto head = html.open("div", {{"class", "shead"}});
    html.add("h3", d.name.empty() ? "GPU" : shortened(d.name, 120));
    html.add("span", {{"class", "quiet"}}, shortened(d.id, 80));
  }
  if (d.time && d.idle) timeOf(html, d, path);
  const auto facts = html.open("dl", {{"class", "facts"}});
  const auto fact = [&](const char* name, const char* at, const Maybe<double>& value,
                        const std::string& text) {
    if (!value) return;
    html.add("dt", name);
    const auto dd = html.open("dd");
    figure(html, path + at, *value, text);
  };
  const auto bytes = [&](const char* name, const char* at, const Maybe<std::int64_t>& value) {
    if (!value) return;
    html.add("dt", name);
    const auto dd = html.open("dd");
    figure(html, path + at, *value, bytesText(static_cast<double>(*value)));
  };
  fact("busy (NVML)", ".utilization_ratio", d.utilization, percentText(d.utilization.value_or(0)));
  fact("SMs active", ".sm_active_ratio", d.smActive, percentText(d.smActive.value_or(0)));
  fact("tensor cores active", ".tensor_active_ratio", d.tensorActive,
       percentText(d.tensorActive.value_or(0)));
  fact("power", ".power_watts", d.powerWatts, numberText(d.powerWatts.value_or(0)) + " W");
  fact("clock", ".clock_mhz", d.clockMhz, numberText(d.clockMhz.value_or(0)) + " MHz");
  fact("clocks throttled", ".throttled_ratio", d.throttled, percentText(d.throttled.value_or(0)));
  bytes("peak memory", ".memory_peak_bytes", d.memoryPeak);
  bytes("memory free at the peak", ".memory_headroom_bytes", d.memoryHeadroom);
}

void kernels(Html& html, const DeviceInfo& info) {
  if (info.kernels.empty()) return;
  html.add("h3", {{"style", "margin-top:1.4rem"}}, "Kernels");
  const HtmlTable table(html, {numberColumn("share of their time"), wideColumn(),
                               textColumn("kernel"), textColumn("kind"), numberColumn("count"),
                               numberColumn("each"), numberColumn("fills")});
  for (std::size_t i = 0; i < info.kernels.size(); ++i) {
    const DeviceInfo::Kernel& k = info.kernels[i];
    const std::string path = "device.kernels." + std::to_string(i);
    const auto row = html.open("tr");
    figureCell(html, path + ".time_ratio", k.ratio, percentText(k.ratio));
    meterCell(html, "w wide", k.ratio, k.category == "collective" ? Hue::kComm : Hue::kCompute);
    cell(html, "", [&] { html.add("code", shortened(k.name.raw(), 200)); });
    html.add("td", {{"class", "quiet"}}, k.category);
    figureCell(html, path + ".count", counted(k.count), countText(counted(k.count)));
    html.add("td", {{"class", "r"}},
             durationText(k.time / std::max<Nanos::rep>(1, counted(k.count))));
    cell(html, "r", [&] {
      if (k.filled) figure(html, path + ".filled_ratio", k.filled, percentText(*k.filled));
    });
  }
}

void copies(Html& html, const DeviceInfo& info) {
  if (info.copies.empty()) return;
  html.add("h3", {{"style", "margin-top:1.4rem"}}, "Copies and sets");
  const HtmlTable table(html, {textColumn("what"), numberColumn("count"), numberColumn("time"),
                               numberColumn("bytes"), numberColumn("rate")});
  for (std::size_t i = 0; i < info.copies.size(); ++i) {
    const DeviceInfo::Copy& c = info.copies[i];
    const std::string path = "device.copies." + std::to_string(i);
    const auto row = html.open("tr");
    html.add("th", {{"scope", "row"}}, copyText(c));
    html.add("td", {{"class", "r"}}, countText(counted(c.count)));
    figureCell(html, path + ".time_ns", c.time.count(), durationText(c.time));
    html.add("td", {{"class", "r"}}, c.bytes ? bytesText(static_cast<double>(*c.bytes)) : "");
    cell(html, "r", [&] {
      if (c.bytesPerSecond)
        figure(html, path + ".bytes_per_s", c.bytesPerSecond, rateText(*c.bytesPerSecond, "bytes"));
    });
  }
}

void calls(Html& html, const DeviceInfo& info) {
  if (info.calls.empty()) return;
  html.add("h3", {{"style", "margin-top:1.4rem"}}, "Calls of the host");
  const HtmlTable table(
      html, {textColumn("call"), textColumn("kind"), numberColumn("count"), numberColumn("time")});
  for (std::size_t i = 0; i < info.calls.size(); ++i) {
    const DeviceInfo::Call& c = info.calls[i];
    const auto row = html.open("tr");
    cell(html, "", [&] { html.add("code", shortened(c.name.raw(), 120)); });
    html.add("td", {{"class", "quiet"}}, c.kind);
    html.add("td", {{"class", "r"}}, countText(counted(c.count)));
    figureCell(html, "device.calls." + std::to_string(i) + ".time_ns", c.time.count(),
               durationText(c.time));
  }
}

}  // namespace

void deviceSection(Html& html, const Analysis& a) {
  if (!a.device) return;
  const DeviceInfo& info = *a.device;
  const auto section = html.open("section", {{"id", "device"}});
  html.add("h2", "The GPU");
  {
    const auto intro = html.open("p", {{"class", "intro"}});
    if (info.basis == "trace") {
      html.text("Shares are of the traced time, ");
      figure(html, "device.traced_ratio", info.tracedRatio,
             percentText(info.tracedRatio.value_or(0)));
      html.text(" " + windowText(a.breakdown) +
                ". Idle time is divided by the activity of the training thread.");
    } else {
      html.text("GPU work was not traced. The values were sampled from outside.");
    }
  }
  for (std::size_t i = 0; i < std::min(info.devices.size(), kMaxDevices); ++i)
    oneDevice(html, info.devices[i], "device.devices." + std::to_string(i));
  kernels(html, info);
  copies(html, info);
  calls(html, info);
}

}  // namespace stallprof
