// SPDX-License-Identifier: MIT
#include "present/words/live_text.h"

#include "base/text.h"
#include "tests/catch.h"
#include "tests/unit/present/sample_analysis.h"

using namespace stallprof;
using namespace std::chrono_literals;

namespace {

std::string screenOf(const Analysis& a, const LiveView& view, int width = 100) {
  std::string text;
  for (const std::string& line : liveScreen(a, view, width)) {
    CHECK(line.size() <= static_cast<std::size_t>(width));
    text += line + "\n";
  }
  return text;
}

// "" where the part is there.
std::string missing(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos ? "" : part + " in\n" + text;
}

LiveView aView() {
  LiveView view;
  view.recording = "train.stallprof";
  view.ran = 125s;
  view.span = 30s;
  view.silent = 400ms;
  view.batches = 1203;
  view.bytes = 12'000'000;
  view.recorderCpuRatio = 0.008;
  view.viewCpuRatio = 0.02;
  return view;
}

}  // namespace

TEST_CASE("a screen says the pace, where time goes, the top stall and what we cost") {
  const std::string text = screenOf(samples::inputBound(), aView());
  for (const char* part :
       {"stallprof top   train.stallprof", "2 min 5 s, running", "LAST 30 s", "steps/s", "p50 ",
        "1,203 batches so far", "  transform", "TOP STALL   transform.too_few_workers, ",
        "USE         ", "recorder 0.8 % of one core, 12 MB recorded; this view 2 %"})
    CHECK(missing(text, part) == "");
}

TEST_CASE("what is not known is said, and silence and the end are") {
  LiveView view = aView();
  view.recorderCpuRatio = -1;
  view.silent = 7s;
  const std::string text = screenOf(samples::nothing(), view);
  for (const char* part : {"no steps seen", "phases are not known yet", "none found",
                           "recorder not known yet", "no new data for 7 s"})
    CHECK(missing(text, part) == "");
  view.ended = true;
  CHECK(missing(screenOf(samples::nothing(), view), ", ended") == "");
}

TEST_CASE("a line says the same in one row") {
  const std::string line = liveLine(samples::inputBound(), aView());
  CHECK(line.find('\n') == std::string::npos);
  for (const char* part :
       {"2 min 5 s running | ", "steps/s", "transform.too_few_workers", "recorder"})
    CHECK(missing(line, part) == "");
}

TEST_CASE("hostile names cannot reach the terminal as they are") {
  LiveView view = aView();
  view.recording = "\x1b]0;x\x07";
  Analysis a = samples::nothing();
  a.run.command = {Untrusted("\x1b[2J")};
  CHECK(screenOf(a, view, 80).find('\x1b') == std::string::npos);
  CHECK(liveLine(a, view).find('\x1b') == std::string::npos);
}

TEST_CASE("a line that is too long ends with a whole character") {
  LiveView view = aView();
  view.recording.clear();
  for (int i = 0; i < 60; ++i) view.recording += "\xc3\xa9";
  for (int width = 60; width < 64; ++width) {
    const std::string line = liveScreen(samples::nothing(), view, width)[0];
    CHECK(line.size() <= static_cast<std::size_t>(width));
    CHECK(escapeTerminal(line) == line);  // which half a character would not be
    CHECK(line.ends_with("\xc3\xa9..."));
  }
}
