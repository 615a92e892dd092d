// SPDX-License-Identifier: MIT
#include "launch/recorder/recorder_log.h"

#include <algorithm>
#include <cstdio>

#include "base/text.h"
#include "recording/storage.h"

namespace stallprof {
namespace {

constexpr Nanos kLossesEvery = std::chrono::minutes(1);

std::string rateText(std::uint32_t milliHz) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g Hz", milliHz / 1000.0);
  return text;
}

std::string_view onOff(bool value) { return value ? "on" : "off"; }

}  // namespace

RecorderLog::RecorderLog(Writer& writer, const RecorderPlan& plan) : writer_(writer) {
  log_.open(writer.directory(), plan.options.logLevel);
  writeStart(plan);
}

void RecorderLog::writeStart(const RecorderPlan& plan) {
  const LaunchOptions& options = plan.options;
  std::string text = "stallprof " + plan.manifest.toolVersion + ", recorder process " +
                     std::to_string(plan.manifest.recorderPid) +
                     (plan.attached ? ", attached to:" : ", command:");
  for (const Untrusted& word : plan.manifest.command) text += " " + quoteShell(word.raw());
  log_.write(LogLevel::kInfo, text);
  char budget[32];
  std::snprintf(budget, sizeof budget, ", budget %.4g %%", options.budget);
  text = "options: " + std::to_string(options.hz) + " Hz" + budget;
  const std::pair<const char*, bool> switches[] = {
      {"python", options.python},
      {"native", options.native},
      {"counters", options.counters},
      {"gpu", options.gpu == GpuTracing::kWhole},
      {"gpu windows", options.gpu == GpuTracing::kWindows},
      {"nvtx", options.nvtx}};
  for (const auto& [name, value] : switches)
    text.append(", ").append(name).append(" ").append(onOff(value));
  log_.write(LogLevel::kInfo, text);
}

void RecorderLog::writeNotes() {
  const Writer::Notes notes = writer_.takeNotes();
  for (const Event& event : notes.events) writeNote(event);
  for (std::size_t i = 0; i < losses_.size(); ++i) losses_[i] += notes.losses[i];
}

void RecorderLog::writeNote(const Event& event) {
  if (const auto* source = std::get_if<SourceState>(&event.payload)) {
    const std::string why(writer_.textOf(source->why));
    log_.write(LogLevel::kInfo, "source " + std::string(writer_.textOf(source->source)) + ": " +
                                    std::string(nameOf(source->state)) +
                                    (why.empty() ? "" : ", " + why));
  } else if (const auto* gap = std::get_if<Gap>(&event.payload)) {
    char length[32] = "";  // of a moment: none
    if (gap->duration > Nanos(0))
      std::snprintf(length, sizeof length, "gap of %.3f s: ", seconds(gap->duration));
    log_.write(LogLevel::kWarning, length + std::string(writer_.textOf(gap->why)));
  }
}

void RecorderLog::writeLosses() {
  std::string text;
  for (std::size_t i = 0; i < losses_.size(); ++i)
    if (losses_[i] > 0)
      text += (text.empty() ? "lost: " : ", ") + std::string(kLossNames[i]) + " " +
              std::to_string(losses_[i]);
  if (!text.empty()) log_.write(LogLevel::kWarning, text);
  losses_ = {};
}

void RecorderLog::update(Nanos now, const RecorderUsage& usage) {
  writeNotes();
  if (log_.writes(LogLevel::kTrace)) {
    char text[128];
    std::snprintf(text, sizeof text, "used %.3f s of CPU, %.1f MB of memory; %lld bytes recorded",
                  seconds(usage.cpu), static_cast<double>(usage.residentBytes) / 1e6,
                  static_cast<long long>(usage.writtenBytes));
    log_.write(LogLevel::kTrace, text);
  }
  if (usage.milliHz != milliHz_ && milliHz_ != 0)
    log_.write(LogLevel::kInfo,
               "sampling rate " + rateText(milliHz_) + " -> " + rateText(usage.milliHz));
  milliHz_ = usage.milliHz;
  const auto lost = [](std::uint64_t count) { return count > 0; };
  if (now >= nextLosses_ && std::any_of(losses_.begin(), losses_.end(), lost)) {
    writeLosses();
    nextLosses_ = now + kLossesEvery;
  }
  const int error = writer_.error();
  if (error != error_)
    log_.write(LogLevel::kError, error == 0 ? "the recording is written again"
                                            : "cannot write the recording: " + troubleText(error));
  error_ = error;
}

void RecorderLog::end(const CommandEnd& end) {
  writeNotes();
  writeLosses();
  std::string how = "the end of the command was not seen";
  if (end.signal > 0) how = "the command was ended by signal " + std::to_string(end.signal);
  if (end.exitCode >= 0) how = "the command ended with " + std::to_string(end.exitCode);
  log_.write(LogLevel::kInfo, how + "; " + std::to_string(writer_.bytesWritten()) +
                                  " bytes recorded, " + std::to_string(end.outlived) +
                                  " processes still run");
}

}  // namespace stallprof
