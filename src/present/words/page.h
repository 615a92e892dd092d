// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stallprof {

enum class Tone { kPlain, kHeading, kQuiet, kGood, kBad };

// Columns a terminal gives to `text`: code points, wide ones (CJK, emoji) as two, combining as
// none.
[[nodiscard]] std::size_t columnsOf(std::string_view text);

// `text` cut to `columns`, ending in "..." where something was cut. Never inside a character.
[[nodiscard]] std::string cut(std::string_view text, std::size_t columns);

// The same from the left, where the end identifies: "...rain/data/loader.py:30".
[[nodiscard]] std::string cutLeft(std::string_view text, std::size_t columns);

// `text` padded with spaces to `columns`; cut where it is longer.
[[nodiscard]] std::string padded(std::string_view text, std::size_t columns);
// Spaces before it; never cut.
[[nodiscard]] std::string rightAligned(const std::string& text, std::size_t columns);

// Lines of a field that no text of ours reaches: what a program's names may take of a page.
inline constexpr std::size_t kMaxFieldLines = 24;

// `text` broken at spaces into lines of at most `columns`; longer words are broken where they must.
// At most `lines` lines; the last ends in "..." where text is left.
[[nodiscard]] std::vector<std::string> fold(std::string_view text, std::size_t columns,
                                            std::size_t lines = kMaxFieldLines);

// A terminal page of a fixed width, written top down. Everything is escaped on its way in, so no
// text of the job's can move the cursor; no line is wider than the page, but for a word of a
// command. Text wraps in its column; only what takes more than `fieldLines` lines is cut.
class Page {
 public:
  Page(std::size_t width, bool colour, std::size_t fieldLines = kMaxFieldLines)
      : width_(width), colour_(colour), fieldLines_(fieldLines) {}

  void line(std::string_view text, Tone tone = Tone::kPlain);  // cut at the width
  void blank();  // one empty line; none at the top, never two in a row

  // `label` in its column, `text` folded in the rest.
  void field(std::string_view label, std::size_t labelColumns, std::string_view text,
             Tone labelTone = Tone::kHeading, Tone tone = Tone::kPlain);

  // `parts` side by side, `between` them; a line ends between two parts where that is possible.
  // Where there are too many for `fieldLines` lines, how many more there are.
  void flow(std::string_view label, std::size_t labelColumns, const std::vector<std::string>& parts,
            std::string_view between, Tone labelTone = Tone::kHeading);

  // A shell command that can be copied as it is: folded only between words, with backslashes. A
  // word longer than a line goes on beyond the width, where the terminal wraps it. Where it cannot
  // be shown so, `instead` takes its place.
  void command(std::string_view label, std::size_t labelColumns, std::string_view text,
               std::string_view instead);

  [[nodiscard]] std::size_t width() const { return width_; }
  [[nodiscard]] std::size_t lines() const { return lines_; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  [[nodiscard]] std::vector<std::string> flowRows(const std::vector<std::string>& parts,
                                                  std::string_view between,
                                                  std::size_t columns) const;
  void put(std::string_view label, Tone labelTone, std::string_view text, Tone tone);

  std::size_t width_;
  bool colour_;
  std::size_t fieldLines_;
  bool blank_ = true;
  std::size_t lines_ = 0;
  std::string text_;
};

}  // namespace stallprof
