// SPDX-License-Identifier: MIT
#include "sampler/nvml/nvml_gpm.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace stallprof {
namespace {

// The counters refresh every 100 ms (nvml.h); twice a second is enough, and costs a quarter.
constexpr Nanos kSampleEvery = std::chrono::milliseconds(390);
constexpr Nanos kRetry = std::chrono::seconds(30);
constexpr std::uint32_t kIds[] = {nvml::kSmUtilization, nvml::kSmOccupancy,
                                  nvml::kAnyTensor,     nvml::kDramBandwidth,
                                  nvml::kPcieSentRate,  nvml::kPcieReceivedRate};

// Percent as thousandths. Wild values were seen where a counter was not to be had (NaN, 1e14).
std::int32_t milli(const nvml::GpmMetric& metric) {
  if (metric.code != nvml::kSuccess || !std::isfinite(metric.value)) return -1;
  if (metric.value < 0 || metric.value > 110) return -1;
  return static_cast<std::int32_t>(std::lround(std::min(metric.value, 100.0) * 10));
}

}  // namespace

NvmlGpm::~NvmlGpm() {
  if (metrics_ == nullptr) return;
  if (metrics_->first != nullptr) api_.gpmFree(metrics_->first);
  if (metrics_->second != nullptr) api_.gpmFree(metrics_->second);
}

bool NvmlGpm::begin() {
  if (api_.gpmSupport == nullptr) {
    state_ = State::kAbsent;
    code_ = nvml::kFunctionNotFound;
    return false;
  }
  nvml::GpmSupport support{nvml::kGpmVersion, 0};
  code_ = api_.gpmSupport(handle_, &support);
  if (code_ == nvml::kSuccess && support.supported == 0) code_ = nvml::kNotSupported;
  if (code_ != nvml::kSuccess) return false;
  if (metrics_ == nullptr) metrics_ = std::make_unique<nvml::GpmMetrics>();
  for (nvml::GpmSample* sample : {&metrics_->first, &metrics_->second})
    if (*sample == nullptr && code_ == nvml::kSuccess) code_ = api_.gpmAlloc(sample);
  return code_ == nvml::kSuccess;
}

void NvmlGpm::refuse(int code, Nanos now) {
  code_ = code;
  const bool never = code == nvml::kNotSupported || code == nvml::kFunctionNotFound ||
                     code == nvml::kInvalidArgument;
  state_ = never ? State::kAbsent : State::kRefused;
  sampledAt_ = Nanos{-1};
  retryAt_ = now + kRetry;
}

void NvmlGpm::read(Nanos now, DeviceUsage& usage) {
  if (state_ == State::kAbsent || (state_ == State::kRefused && now < retryAt_)) return;
  if (sampledAt_ >= Nanos::zero() && now - sampledAt_ < kSampleEvery) return;
  if (state_ != State::kWorks && !begin()) return refuse(code_, now);
  if (const int code = api_.gpmSample(handle_, metrics_->second); code != nvml::kSuccess)
    return refuse(code, now);
  state_ = State::kWorks;
  const Nanos before = std::exchange(sampledAt_, now);
  if (before >= Nanos::zero()) take(now - before, usage);
  std::swap(metrics_->first, metrics_->second);
}

void NvmlGpm::take(Nanos span, DeviceUsage& usage) {
  metrics_->version = nvml::kGpmVersion;
  metrics_->count = std::size(kIds);
  for (std::size_t i = 0; i < std::size(kIds); ++i)
    metrics_->metrics[i] = {kIds[i], nvml::kUnknown, 0, nullptr, nullptr, nullptr};
  if (api_.gpmMetrics(metrics_.get()) != nvml::kSuccess) return;
  const nvml::GpmMetric* metrics = metrics_->metrics;
  usage.smActiveMilli = milli(metrics[0]);
  usage.occupancyMilli = milli(metrics[1]);
  usage.tensorMilli = milli(metrics[2]);
  usage.dramMilli = milli(metrics[3]);
  const auto add = [&](const nvml::GpmMetric& rate, double& total) {
    // No link of today carries 1 TB/s.
    if (rate.code != nvml::kSuccess || !(rate.value >= 0 && rate.value < 1e6)) return;
    total = std::max(total, 0.0) + rate.value * 1048576 * seconds(span);
  };
  add(metrics[4], sent_);
  add(metrics[5], received_);
  if (sent_ >= 0) usage.sentBytes = static_cast<std::int64_t>(sent_);
  if (received_ >= 0) usage.receivedBytes = static_cast<std::int64_t>(received_);
}

}  // namespace stallprof
