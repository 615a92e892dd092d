// SPDX-License-Identifier: MIT
#include "sampler/nvml/nvml_sampler.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <thread>
#include <utility>

#include "sampler/proc/proc_file.h"
#include "sampler/proc/proc_text.h"

namespace stallprof {
namespace {

// After the command was let go: its own start must not meet ours in the driver. A job that needs a
// GPU takes longer than this to load its libraries.
constexpr Nanos kStartAfter = std::chrono::milliseconds(250);
constexpr Nanos kDevicePeriod = std::chrono::seconds(1);
// Loading the driver again takes some 2 s a device, where nothing keeps it loaded.
constexpr Nanos kHang = std::chrono::seconds(20);

bool isThere(const std::string& root, const char* path) {
  return ::access(under(root, path).c_str(), F_OK) == 0;
}

// The kernel gives this number to the first pid namespace (PROC_PID_INIT_INO).
bool inFirstPidNamespace(const std::string& root) {
  return readLink(under(root, "proc/self/ns/pid")) == "pid:[4026531836]";
}

std::string secondsText(Nanos t) { return std::to_string(t / std::chrono::seconds(1)) + " s"; }

}  // namespace

std::vector<std::string> nvmlLibraries(const std::string& root) {
  if (const char* named = std::getenv(nvml::kLibraryVariable); named != nullptr && *named != '\0')
    return {named};
  // /dev/dxg: WSL, where the driver is Windows's.
  if (!isThere(root, "dev/nvidiactl") && !isThere(root, "proc/driver/nvidia/version") &&
      !isThere(root, "dev/dxg"))
    return {};
  return {std::begin(nvml::kLibraries), std::end(nvml::kLibraries)};
}

NvmlSampler::NvmlSampler(std::string root, const ProcessTree* tree)
    : root_(std::move(root)), tree_(tree), ownPids_(inFirstPidNamespace(root_)) {}

Nanos NvmlSampler::period() const { return startAt_ < Nanos::zero() ? kStartAfter : kDevicePeriod; }

void NvmlSampler::start(Nanos now, EventOut& out) {
  if (startAt_ < Nanos::zero()) startAt_ = now + kStartAfter;
  if (now < startAt_ || refused_) return;
  auto libraries = nvmlLibraries(root_);
  if (libraries.empty()) return;  // it may come: some drivers are loaded by their first user
  thread_.emplace(std::move(libraries));
  if (thread_->started()) return;
  refused_ = true;
  emitSource(out, now, "nvml", Coverage::kAbsent, "no thread could be started for it");
}

void NvmlSampler::sample(Nanos now, EventOut& out) {
  if (!thread_) start(now, out);
  if (!thread_) return;
  take(out);
  reportHang(now, out);
}

void NvmlSampler::finish(Nanos now, EventOut& out) {
  if (!thread_) return;
  take(out);
  reportHang(now, out);
  thread_.reset();
  refused_ = true;
}

// -1 in the file too: a host of one node, or firmware that does not say.
std::int32_t NvmlSampler::nodeOf(const NvmlSeen& seen) const {
  if (seen.pci.empty()) return -1;
  const std::string folder = "sys/bus/pci/devices/" + seen.pci;
  return static_cast<std::int32_t>(
      parseNumber(contentOf(under(root_, folder + "/numa_node"), 64)).value_or(-1));
}

void NvmlSampler::take(EventOut& out) {
  auto [found, dropped] = thread_->take();
  for (const NvmlSeen& seen : found.devices) {
    const StringId device = out.intern(seen.uuid);
    devices_.push_back(device);
    out.emit(now(), DeviceSeen{device,
                               out.intern(seen.name),
                               {},
                               seen.ordinal,
                               seen.multiprocessors,
                               seen.majorCapability,
                               seen.minorCapability,
                               seen.memoryBytes,
                               nodeOf(seen)});
  }
  for (NvmlFindings::Usage& sample : found.usages) {
    sample.usage.device = devices_.at(sample.device);
    out.emit(sample.at, sample.usage);
  }
  for (const NvmlFindings::Processes& list : found.processes) reportProcesses(list, out);
  for (NvmlFindings::State& state : found.states) {
    emitSource(out, state.at, state.source, state.coverage, state.why);
    std::erase_if(states_, [&](const auto& old) { return old.source == state.source; });
    states_.push_back(std::move(state));
  }
  if (dropped > 0) out.emit(now(), Loss{LossKind::kDeviceDropped, dropped, out.intern("nvml")});
}

void NvmlSampler::reportProcesses(const NvmlFindings::Processes& found, EventOut& out) {
  for (const NvmlProcess& process : found.processes)
    out.emit(found.at, DeviceProcess{devices_.at(found.device), processOf(process.pid), process.pid,
                                     process.memoryBytes, process.busyMilli});
}

ProcessId NvmlSampler::processOf(std::uint32_t pid) {
  if (tree_ == nullptr || pid == 0) return {};
  const auto& live = tree_->processes();
  const auto found =
      std::find_if(live.begin(), live.end(), [&](const LiveProcess& p) { return p.pid == pid; });
  if (found == live.end()) return {};
  // In a container the number may be the host's, and one of ours by chance.
  if (!ownPids_ && !matched_.contains(found->id) && !usesDevice(pid)) return {};
  matched_.insert(found->id);
  return found->id;
}

bool NvmlSampler::usesDevice(std::uint32_t pid) const {
  const std::string folder = processPath(root_, pid, "fd");
  bool uses = false;
  const bool listed = forEachNumber(folder, [&](std::uint32_t fd) {
    uses = uses || readLink(folder + "/" + std::to_string(fd)).starts_with("/dev/nvidia");
  });
  return listed && uses;
}

void NvmlSampler::reportHang(Nanos now, EventOut& out) {
  const Nanos since = thread_->busySince();
  const bool hangs = since > Nanos::zero() && now - since > kHang;
  if (std::exchange(hangs_, hangs) == hangs) return;
  if (hangs)
    return emitSource(
        out, since, "nvml", states_.empty() ? Coverage::kAbsent : Coverage::kPartial,
        "the NVIDIA driver did not answer for " + secondsText(now - since) + " and more");
  for (const NvmlFindings::State& state : states_)
    emitSource(out, now, state.source, state.coverage, state.why);
}

std::vector<SourceReport> nvmlSources(const std::string& root, Nanos limit) {
  auto libraries = nvmlLibraries(root);
  if (libraries.empty()) return {{"nvml", Coverage::kAbsent, "no NVIDIA driver here"}};
  NvmlThread thread(std::move(libraries));
  const Nanos until = now() + limit;
  std::vector<SourceReport> reports;
  while (reports.empty() && now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    for (const NvmlFindings::State& state : thread.take().findings.states)
      reports.push_back({state.source, state.coverage, state.why});
  }
  if (reports.empty())
    reports.push_back({"nvml", Coverage::kAbsent,
                       "the NVIDIA driver did not answer within " + secondsText(limit)});
  return reports;
}

}  // namespace stallprof
