// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "analysis/analyze.h"
#include "base/fd.h"
#include "base/text.h"
#include "present/words/live_text.h"
#include "recording/follower.h"
#include "stallprof/command_line.h"
#include "stallprof/live_terminal.h"
#include "stallprof/output.h"
#include "stallprof/running.h"
#include "trace/live_window.h"

namespace stallprof {
namespace {

// A sample costs what the analysis of the window costs: it may take a 50th of one core.
constexpr int kMinRestPerCost = 50;
constexpr Nanos kRecorderSilence = std::chrono::seconds(3);

// The directory meant by a path, a process id, or nothing. The Error is one line, or a list.
Result<std::string> chooseRecording(const std::string& word) {
  std::error_code ignored;
  if (!word.empty() && std::filesystem::exists(word, ignored)) return word;
  if (!word.empty() && word.find_first_not_of("0123456789") == std::string::npos &&
      word.size() < 10) {
    const std::string found = recordingOfProcess(static_cast<pid_t>(std::stol(word)));
    if (!found.empty()) return found;
    return Error{Error::Kind::kIo, "no recording of process " + word + " was found"};
  }
  if (!word.empty()) return Error{Error::Kind::kIo, "there is no recording " + inQuotes(word)};
  const std::vector<Running> running = runningRecordings();
  if (running.size() == 1) return running[0].directory;
  std::string list;
  for (const Running& each : running) list += "\n  " + escapeTerminal(each.directory, 400);
  return Error{Error::Kind::kIo, running.empty() ? "no running recording was found; name one"
                                                 : "several recordings run; name one:" + list};
}

bool ofThisBoot(const Manifest& manifest) {
  const auto id = readFile("/proc/sys/kernel/random/boot_id", 64);
  return id.ok() && !manifest.host.bootId.empty() && id.value().starts_with(manifest.host.bootId);
}

struct TopRequest {
  std::string recording;
  std::optional<double> interval, span;  // seconds
  bool once = false;
};

class Top {
 public:
  Top(std::string recording, const TopRequest& request)
      : recording_(std::move(recording)),
        span_(fromSeconds(std::clamp(request.span.value_or(30), 1.0, 3600.0))),
        interval_(fromSeconds(std::clamp(request.interval.value_or(1), 0.1, 3600.0))),
        once_(request.once),
        window_(span_) {}

  int run() {
    auto follower = RecordingFollower::open(recording_, window_.strings(), take_);
    if (!follower.ok()) return fail(follower.error().message, 1);
    LiveTerminal terminal(once_);
    for (;;) {
      const Nanos began = now(), cpu = processCpu();
      if (const Status read = follower.value().advance(); !read.ok())
        return fail(read.error().message, 1);
      if (follower.value().manifest()) {
        sample(follower.value());
        const bool over = view_.ended || gone(*follower.value().manifest());
        const auto screen = liveScreen(analysis_, view_, terminal.columns());
        if (once_) return print(screen);
        if (!terminal.show(screen, liveLine(analysis_, view_))) return 0;
        if (over) break;
      } else if (once_) {
        return fail(inQuotes(recording_) + " holds nothing yet", 1);
      }
      const Nanos cost = processCpu() - cpu;
      if (terminal.leaveBefore(began + std::max(interval_, kMinRestPerCost * cost))) return 0;
    }
    // Behind the full screen, which is gone with the terminal object: what was last to be seen.
    if (terminal.fullScreen()) last_ = liveLine(analysis_, view_);
    return 0;
  }

  [[nodiscard]] const std::string& last() const { return last_; }

 private:
  void sample(const RecordingFollower& follower) {
    const Manifest& manifest = *follower.manifest();
    analysis_ = analyze(window_.trace(manifest));
    view_.recording = recording_;
    view_.ran = std::max(Nanos(0), window_.latest() - manifest.startedMonotonic);
    view_.span = std::min(span_, view_.ran);
    view_.silent = ofThisBoot(manifest) ? std::max(Nanos(0), now() - window_.latest()) : Nanos(0);
    view_.batches = window_.batches();
    view_.bytes = follower.bytes();
    view_.recorderCpuRatio = window_.recorderCpuRatio();
    view_.ended = follower.ended() || window_.commandEnded();
    if (const Nanos since = now() - started_; since > Nanos(0) && !once_)
      view_.viewCpuRatio = seconds(processCpu()) / seconds(since);
  }

  // Killed: nothing will be added, and no end will ever be read.
  [[nodiscard]] bool gone(const Manifest& manifest) const {
    return view_.silent > kRecorderSilence && ofThisBoot(manifest) &&
           ::kill(static_cast<pid_t>(manifest.recorderPid), 0) != 0 && errno == ESRCH;
  }

  static int print(const std::vector<std::string>& screen) {
    std::string text;
    for (const std::string& line : screen) text += line + "\n";
    return writeAll(STDOUT_FILENO, text) ? 0 : 1;
  }

  std::string recording_, last_;
  Nanos span_, interval_;
  bool once_;
  LiveWindow window_;
  const std::function<void(const Event&)> take_ = [this](const Event& e) { window_.take(e); };
  Analysis analysis_;
  LiveView view_;
  Nanos started_ = now();
};

class TopCommand final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.description(
        "A run that still goes on, seen from a second terminal: its pace, where time goes, what "
        "holds it back. q leaves; the run is not touched.");
    addText(app, "recording", request_.recording,
            "a running recording's directory, or a process id; none: the only one there is");
    addNumber(app, "--interval", request_.interval,
              "seconds between two samples (default 1), more where one is expensive");
    addNumber(app, "--window", request_.span, "seconds that a sample covers (default 30)");
    app.add_flag("--once", request_.once, "one sample, as plain text");
  }

  int run() override {
    const Result<std::string> recording = chooseRecording(request_.recording);
    if (!recording.ok()) return fail(recording.error().message, request_.recording.empty() ? 2 : 1);
    Top top(recording.value(), request_);
    const int result = top.run();
    if (!top.last().empty()) std::puts(top.last().c_str());
    return result;
  }

 private:
  TopRequest request_;
};

}  // namespace

std::unique_ptr<Command> makeTop() { return std::make_unique<TopCommand>(); }

}  // namespace stallprof
