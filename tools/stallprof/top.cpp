// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "analysis/analyze.h"
#include "base/fd.h"
#include "base/text.h"
#include "present/live_text.h"
#include "recording/follower.h"
#include "stallprof/arguments.h"
#include "stallprof/live_terminal.h"
#include "stallprof/running.h"
#include "trace/live_window.h"

namespace stallprof {
namespace {

// A look costs what the analysis of the window costs: never more than this share of one core.
constexpr int kLooksCost = 50;
constexpr Nanos kRecorderSilence = std::chrono::seconds(3);

int fail(const std::string& message, int status = 1) {
  std::fprintf(stderr, "stallprof: %s\n", message.c_str());
  return status;
}

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

struct Request {
  std::string recording, interval = "1", span = "30";
  bool once = false;
};

class Top {
 public:
  Top(std::string recording, const Request& request)
      : recording_(std::move(recording)),
        span_(fromSeconds(std::clamp(std::atof(request.span.c_str()), 1.0, 3600.0))),
        interval_(fromSeconds(std::clamp(std::atof(request.interval.c_str()), 0.1, 3600.0))),
        once_(request.once),
        window_(span_) {}

  int run() {
    auto follower = RecordingFollower::open(recording_, window_.strings(), take_);
    if (!follower.ok()) return fail(follower.error().message);
    LiveTerminal terminal(once_);
    for (;;) {
      const Nanos began = now(), cpu = processCpu();
      if (const Status read = follower.value().advance(); !read.ok())
        return fail(read.error().message);
      if (follower.value().manifest()) {
        look(follower.value());
        const bool over = view_.ended || gone(*follower.value().manifest());
        const auto screen = liveScreen(analysis_, view_, terminal.columns());
        if (once_) return print(screen);
        if (!terminal.show(screen, liveLine(analysis_, view_))) return 0;
        if (over) break;
      } else if (once_) {
        return fail(inQuotes(recording_) + " holds nothing yet");
      }
      const Nanos cost = processCpu() - cpu;
      if (terminal.leaveBefore(began + std::max(interval_, kLooksCost * cost))) return 0;
    }
    // Behind the full screen, which is gone with the terminal object: what was last to be seen.
    if (terminal.fullScreen()) last_ = liveLine(analysis_, view_);
    return 0;
  }

  [[nodiscard]] const std::string& last() const { return last_; }

 private:
  void look(const RecordingFollower& follower) {
    const Manifest& manifest = *follower.manifest();
    analysis_ = analyze(window_.trace(manifest), {std::nullopt, recording_, nullptr});
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

}  // namespace

int verbTop(const Words& words) {
  Request request;
  std::vector<Argument> arguments = {
      {"recording", "a running recording's directory, or a process id; none: the only one there is",
       &request.recording},
      {"--interval", "seconds between two looks (default 1), more where a look is dear",
       &request.interval},
      {"--window", "seconds that a look is of (default 30)", &request.span},
      {"--once", "one look, as plain text"}};
  arguments[1].number = arguments[2].number = true;
  arguments[3].flag = &request.once;
  const auto status = parseArguments(
      "top",
      "A run that still goes on, seen from a second terminal: its pace, where time goes, what "
      "holds it back. q leaves; the run is not touched.",
      arguments, joinedWords(words));
  if (status) return *status;
  const Result<std::string> recording = chooseRecording(request.recording);
  if (!recording.ok()) return fail(recording.error().message, request.recording.empty() ? 2 : 1);
  Top top(recording.value(), request);
  const int result = top.run();
  if (!top.last().empty()) std::puts(top.last().c_str());
  return result;
}

}  // namespace stallprof
