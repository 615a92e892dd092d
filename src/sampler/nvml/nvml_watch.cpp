// SPDX-License-Identifier: MIT
#include "sampler/nvml/nvml_watch.h"

#include <algorithm>
#include <utility>

namespace stallprof {
namespace {

constexpr std::size_t kMaxDevices = 128;  // 16 boards in 7 instances each
// The driver's own figures change 6 times a second at most.
constexpr Nanos kWatchPeriod = std::chrono::milliseconds(200);
constexpr Nanos kIdlePeriod = std::chrono::seconds(1);
constexpr Nanos kListEvery = std::chrono::seconds(1);
// A device that shows nothing new is reported again after this long.
constexpr Nanos kRepeat = std::chrono::seconds(10);
// What cannot be had now (no driver yet, a lost device) is tried again, each try costs 10-100 ms.
constexpr Nanos kWatchRetry = std::chrono::seconds(30);
// Of one core, for all samples together: the recorder's least budget is 1 %, but for --budget.
constexpr double kShare = 0.003;

enum Which : std::size_t { kNvml, kGpm };
constexpr const char* kSourceNames[] = {"nvml", "gpm"};

bool isIdle(const DeviceUsage& usage, const std::vector<NvmlProcess>& processes) {
  if (!processes.empty()) return false;
  return usage.busyMilli == 0 || (usage.busyMilli < 0 && usage.smActiveMilli <= 0);
}

void add(std::string& text, const std::string& more) { text += (text.empty() ? "" : "; ") + more; }

}  // namespace

NvmlWatch::NvmlWatch(std::vector<std::string> libraries, std::function<Nanos()> cpu)
    : libraries_(std::move(libraries)), cpu_(std::move(cpu)) {
  reportedStates_[kNvml].source = kSourceNames[kNvml];
  reportedStates_[kGpm].source = kSourceNames[kGpm];
}

Nanos NvmlWatch::step(Nanos now, NvmlFindings& out) {
  if (!open_) {
    if (now < openAt_) return openAt_;
    if (!open(now, out)) return openAt_ = now + kWatchRetry;
  }
  Nanos next = now + kIdlePeriod;
  const Nanos before = cpu_();
  int samples = 0;
  for (std::size_t i = 0; i < watched_.size() && open_; ++i) {
    if (now >= watched_[i].due) {
      sample(i, now, out);
      ++samples;
    }
    next = std::min(next, watched_[i].due);
  }
  if (samples > 0 && std::exchange(warm_, true)) {  // the first makes the library set itself up
    const Nanos each = (cpu_() - before) / samples * static_cast<Nanos::rep>(watched_.size());
    cost_ = cost_ == Nanos::zero() ? each : (cost_ * 3 + each) / 4;
  }
  if (now >= statesAt_) reportStates(now, out);
  return open_ ? next : openAt_;
}

// Empty when the library is loaded and initialized.
std::string NvmlWatch::openLibrary() {
  std::string why;
  for (const std::string& library : libraries_) {
    if (api_) break;
    auto loaded = nvml::load(library);
    if (loaded.ok())
      api_ = loaded.value();
    else if (why.empty())
      why = loaded.error().message;
  }
  if (!api_) return why;
  const int code = api_->init();
  return code == nvml::kSuccess ? std::string() : nvml::meaning(code);
}

bool NvmlWatch::open(Nanos now, NvmlFindings& out) {
  const std::string why = openLibrary();
  if (!why.empty()) {
    reportState(now, kNvml, Coverage::kAbsent, why, out);
    return false;
  }
  char version[96] = {};
  if (api_->driverVersion != nullptr && api_->driverVersion(version, sizeof version - 1) == 0)
    driver_ = version;
  open_ = true;
  hidden_.clear();
  for (Watched& watched : watched_) {
    watched.due = now;
    watched.code = nvml::kGpuIsLost;
  }
  findDevices(out);
  statesAt_ = now;  // after the first samples
  return true;
}

void NvmlWatch::findDevices(NvmlFindings& out) {
  unsigned count = 0;
  if (api_->count(&count) != nvml::kSuccess) return;
  for (unsigned i = 0; i < count; ++i) {
    nvml::Device handle = nullptr;
    const int code = api_->handleByIndex(i, &handle);
    if (code != nvml::kSuccess) {
      hidden_.push_back("device " + std::to_string(i) + ": " + nvml::meaning(code));
      continue;
    }
    Watched* board = keep(handle, static_cast<int>(i), false, out);
    unsigned current = 0, pending = 0;
    if (api_->migMode != nullptr && api_->migMode(handle, &current, &pending) == nvml::kSuccess &&
        current == 1) {
      if (board != nullptr) board->split = true;
      findInstances(handle, static_cast<int>(i), out);
    }
  }
}

void NvmlWatch::findInstances(nvml::Device board, int ordinal, NvmlFindings& out) {
  unsigned maximum = 0;
  if (api_->migCount == nullptr || api_->migHandle == nullptr ||
      api_->migCount(board, &maximum) != nvml::kSuccess)
    return;
  for (unsigned i = 0; i < std::min<unsigned>(maximum, kMaxDevices); ++i) {
    nvml::Device handle = nullptr;
    if (api_->migHandle(board, i, &handle) == nvml::kSuccess) keep(handle, ordinal, true, out);
  }
}

NvmlWatch::Watched* NvmlWatch::keep(nvml::Device handle, int ordinal, bool instance,
                                    NvmlFindings& out) {
  auto device = std::make_unique<NvmlDevice>(*api_, handle, driver_);
  NvmlSeen seen = device->identity(ordinal, instance);
  if (seen.uuid.empty()) {
    hidden_.push_back("device " + std::to_string(ordinal) + ": it does not give its UUID");
    return nullptr;
  }
  for (const Watched& board : watched_)  // an instance has its board's place
    if (instance && seen.pci.empty() && board.seen.ordinal == ordinal) seen.pci = board.seen.pci;
  auto known = std::find_if(watched_.begin(), watched_.end(),
                            [&](const Watched& w) { return w.seen.uuid == seen.uuid; });
  if (known == watched_.end()) {
    if (watched_.size() >= kMaxDevices) {
      hidden_.push_back("device " + std::to_string(ordinal) + ": more than " +
                        std::to_string(kMaxDevices) + " are there");
      return nullptr;
    }
    out.devices.push_back(seen);
    known = watched_.insert(watched_.end(), Watched{});
    known->seen = std::move(seen);
  }
  known->device = std::move(device);
  known->code = nvml::kSuccess;
  return &*known;
}

Nanos NvmlWatch::period(const Watched& watched) const {
  const Nanos minimum(static_cast<Nanos::rep>(static_cast<double>(cost_.count()) / kShare));
  return std::max(watched.idle ? kIdlePeriod : kWatchPeriod, minimum);
}

void NvmlWatch::sample(std::size_t index, Nanos now, NvmlFindings& out) {
  Watched& watched = watched_[index];
  if (watched.device == nullptr) {
    watched.due = now + kWatchRetry;
    return;
  }
  DeviceUsage usage = watched.device->sample(now);
  if (watched.device->lost() != nvml::kSuccess) return lose(watched, now);
  watched.code = nvml::kSuccess;
  if (watched.listedAt < Nanos::zero() || now - watched.listedAt >= kListEvery)
    reportProcesses(index, now, out);
  // Once used, always reported: whoever takes the mean of the samples then weighs them alike.
  watched.idle = watched.idle && isIdle(usage, watched.processes);
  report(index, now, usage, out);
  watched.due = std::max(watched.due + period(watched), now + period(watched) / 2);
}

void NvmlWatch::lose(Watched& watched, Nanos now) {
  watched.code = watched.device->lost();
  watched.due = now + kWatchRetry;
  statesAt_ = now;
  if (watched.code != nvml::kUninitialized) return;
  open_ = false;  // the driver was unloaded: start over
  openAt_ = now + kWatchRetry;
}

void NvmlWatch::report(std::size_t index, Nanos now, const DeviceUsage& usage, NvmlFindings& out) {
  Watched& watched = watched_[index];
  const bool same = watched.idle && watched.reportedAt >= Nanos::zero() &&
                    now - watched.reportedAt < kRepeat &&
                    usage.memoryUsed == watched.reported.memoryUsed &&
                    usage.busyMilli == watched.reported.busyMilli;
  if (same) return;
  watched.reportedAt = now;
  watched.reported = usage;
  out.usages.push_back({now, index, usage});
}

void NvmlWatch::reportProcesses(std::size_t index, Nanos now, NvmlFindings& out) {
  Watched& watched = watched_[index];
  std::vector<NvmlProcess> found;
  watched.listedAt = now;
  // Those of a board that is split are of its instances, where these are seen.
  const bool instances = std::any_of(watched_.begin(), watched_.end(), [&](const Watched& other) {
    return &other != &watched && other.seen.ordinal == watched.seen.ordinal;
  });
  if ((watched.split && instances) || !watched.device->processes(now, found)) return;
  const auto alike = [](const NvmlProcess& a, const NvmlProcess& b) {
    return a.pid == b.pid && a.memoryBytes == b.memoryBytes && a.busyMilli == b.busyMilli;
  };
  const bool same = std::equal(found.begin(), found.end(), watched.processes.begin(),
                               watched.processes.end(), alike);
  watched.processes = std::move(found);
  if (watched.processes.empty() || (same && now - watched.processesReportedAt < kRepeat)) return;
  watched.processesReportedAt = now;
  out.processes.push_back({now, index, watched.processes});
}

void NvmlWatch::reportState(Nanos now, std::size_t which, Coverage coverage, std::string why,
                            NvmlFindings& out) {
  NvmlFindings::State& reported = reportedStates_[which];
  if (reported.coverage == coverage && reported.why == why) return;
  reported.at = now;
  reported.coverage = coverage;
  reported.why = std::move(why);
  out.states.push_back(reported);
}

void NvmlWatch::reportStates(Nanos now, NvmlFindings& out) {
  statesAt_ = now + kWatchRetry;
  std::string missing, gpmMissing;
  std::size_t seen = 0, reporting = 0, gpmWorks = 0;
  for (const std::string& hidden : hidden_) add(missing, hidden);
  for (const Watched& watched : watched_) {
    if (watched.device == nullptr || watched.code != nvml::kSuccess) {
      add(missing, watched.seen.uuid + ": " + nvml::meaning(watched.code));
      continue;
    }
    ++seen;
    if (watched.split) continue;  // its instances are read instead
    ++reporting;
    const NvmlGpm& gpm = watched.device->gpm();
    if (gpm.state() == NvmlGpm::State::kWorks)
      ++gpmWorks;
    else if (gpmMissing.empty())
      gpmMissing = gpm.state() == NvmlGpm::State::kAbsent
                       ? "needs a Hopper or newer GPU and its driver"
                       : nvml::meaning(gpm.code());
    if (watched.device->busyCode() != nvml::kSuccess && gpm.state() != NvmlGpm::State::kWorks)
      add(missing,
          watched.seen.uuid + ": no busy share, " + nvml::meaning(watched.device->busyCode()));
  }
  std::string what = std::to_string(seen) + (seen == 1 ? " device" : " devices");
  if (!driver_.empty()) what += ", driver " + driver_;
  if (watched_.empty() && missing.empty()) missing = "the driver shows no device";
  const Coverage coverage = seen == 0         ? Coverage::kAbsent
                            : missing.empty() ? Coverage::kFull
                                              : Coverage::kPartial;
  reportState(now, kNvml, coverage, missing.empty() ? what : what + "; " + missing, out);
  if (reporting == 0) return;
  reportState(now, kGpm,
              gpmWorks == 0           ? Coverage::kAbsent
              : gpmWorks == reporting ? Coverage::kFull
                                      : Coverage::kPartial,
              gpmWorks == reporting ? "" : gpmMissing, out);
}

}  // namespace stallprof
