// SPDX-License-Identifier: MIT
#include "stallprof/live_terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string_view>

namespace stallprof {
namespace {

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

}  // namespace

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

}  // namespace stallprof
