// SPDX-License-Identifier: MIT
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>

#include "analysis/analyze.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/time.h"
#include "present/words/live_text.h"
#include "recording/follower.h"
#include "stallprof/command_line.h"
#include "stallprof/output.h"
#include "stallprof/reading.h"
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
  if (!word.empty()) return Error{Error::Kind::kIo, "no such recording: " + inQuotes(word)};
  const std::vector<Running> running = runningRecordings();
  if (running.size() == 1) return running[0].directory;
  std::string list;
  for (const Running& each : running) list += "\n  " + escapeTerminal(each.directory, 400);
  return Error{Error::Kind::kIo, running.empty() ? "no running recording was found; name one"
                                                 : "several recordings run; name one:" + list};
}

constexpr char kEnter[] = "\x1b[?1049h\x1b[?25l";  // the other screen, no cursor
constexpr char kLeave[] = "\x1b[?25h\x1b[?1049l";

winsize sizeOf() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
    size.ws_col = 80;
    size.ws_row = 24;
  }
  return size;
}

bool capable() {
  const char* terminal = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && terminal != nullptr && terminal[0] != '\0' &&
         std::string_view(terminal) != "dumb";
}

// Where `top` shows itself: the whole of a terminal, restored at the end, or lines where there is
// no terminal that can do more. One object at a time.
class LiveTerminal {
 public:
  explicit LiveTerminal(bool linesOnly);
  LiveTerminal(LiveTerminal&&) = delete;
  ~LiveTerminal();

  [[nodiscard]] bool fullScreen() const { return fullScreen_; }
  [[nodiscard]] int columns() const;
  // The whole screen again, or a line. False: nobody reads any more.
  bool show(const std::vector<std::string>& screen, const std::string& line);
  // Until `until`, or sooner with true: somebody wants to leave (q, Ctrl-C, a signal).
  [[nodiscard]] bool leaveBefore(Nanos until);

 private:
  bool fullScreen_ = false;
  bool keys_ = false;  // stdin is a terminal that we may read single keys from
  termios before_{};
  Fd signals_;
};

LiveTerminal::LiveTerminal(bool linesOnly) : fullScreen_(!linesOnly && capable()) {
  sigset_t leaving;
  sigemptyset(&leaving);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&leaving, signal);
  ::sigprocmask(SIG_BLOCK, &leaving, nullptr);
  signals_ = Fd(::signalfd(-1, &leaving, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fullScreen_) return;
  std::signal(SIGTSTP, SIG_IGN);  // stopped, it would leave the other screen behind
  keys_ = ::isatty(STDIN_FILENO) == 1 && ::tcgetattr(STDIN_FILENO, &before_) == 0 &&
          ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
  if (keys_) {
    termios keys = before_;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &keys);
  }
  (void)writeAll(STDOUT_FILENO, kEnter);
}

LiveTerminal::~LiveTerminal() {
  if (!fullScreen_) return;
  (void)writeAll(STDOUT_FILENO, kLeave);
  if (keys_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

int LiveTerminal::columns() const { return fullScreen_ ? sizeOf().ws_col : 100; }

bool LiveTerminal::show(const std::vector<std::string>& screen, const std::string& line) {
  if (!fullScreen_) return writeAll(STDOUT_FILENO, line + "\n");
  const std::size_t rows = std::max<std::size_t>(sizeOf().ws_row, 2);
  std::string text = "\x1b[H";
  for (std::size_t i = 0; i < screen.size() && i + 1 < rows; ++i)
    text += "\x1b[K" + screen[i] + "\r\n";
  return writeAll(STDOUT_FILENO, text + "\x1b[J");
}

bool LiveTerminal::leaveBefore(Nanos until) {
  for (;;) {
    const Nanos left = until - now();
    if (left <= Nanos(0)) return false;
    pollfd ready[2] = {{signals_.get(), POLLIN, 0}, {keys_ ? STDIN_FILENO : -1, POLLIN, 0}};
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    if (::poll(ready, 2, static_cast<int>(std::min<std::int64_t>(wait, 60'000))) <= 0) continue;
    if (ready[0].revents != 0) return true;
    char key = 'q';
    if (::read(STDIN_FILENO, &key, 1) <= 0 || key == 'q' || key == 'Q') return true;
  }
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
    auto terminal = std::make_unique<LiveTerminal>(once_);
    for (;;) {
      const Nanos began = now(), cpu = processCpu();
      if (const Status read = follower.value().advance(); !read.ok()) {
        terminal.reset();  // what is said on the full screen is gone with it
        return fail(read.error().message, 1);
      }
      if (follower.value().manifest()) {
        sample(follower.value());
        const bool over = view_.ended || gone(*follower.value().manifest());
        const auto screen = liveScreen(analysis_, view_, terminal->columns());
        if (once_) return print(screen);
        if (!terminal->show(screen, liveLine(analysis_, view_))) return 0;
        if (over) break;
      } else if (once_) {
        return fail(inQuotes(recording_) + " has no data yet", 1);
      }
      const Nanos cost = processCpu() - cpu;
      if (terminal->leaveBefore(began + std::max(interval_, kMinRestPerCost * cost))) return 0;
    }
    // Behind the full screen, which is gone with the terminal object: what was last to be seen.
    if (terminal->fullScreen()) last_ = liveLine(analysis_, view_);
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
        "Shows a running recording in a second terminal: its pace, its phases, the first finding. "
        "q quits. The run is not affected.");
    addText(app, "recording", request_.recording,
            "directory of a running recording, or a process id of the run (default: the only "
            "running recording)");
    addNumber(app, "--interval", request_.interval,
              "seconds between two updates (default 1), more if an update is expensive");
    addNumber(app, "--window", request_.span,
              "seconds that an update covers, 1 at least (default 30)");
    app.add_flag("--once", request_.once, "print one update as plain text");
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
