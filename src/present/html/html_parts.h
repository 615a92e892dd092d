// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "present/html/html_writer.h"
#include "present/html/picture/picture.h"

// What the sections of the HTML report are made of.
namespace stallprof {

// A number that the JSON report has too: `path` names it there ("steps.time_ns.p50"), and the value
// stands beside the words. An unmeasured one reads "not measured" and has no value.
void figure(Html& html, const std::string& path, double value, std::string_view text);
void figure(Html& html, const std::string& path, std::int64_t value, std::string_view text);
void figure(Html& html, const std::string& path, const Maybe<double>& value, std::string_view text);
// A word that the JSON report has too.
void word(Html& html, const std::string& path, std::string_view value, std::string_view text);

void dot(Html& html, Hue hue);  // the square of a legend
// A bar of `ratio` of its cell.
void meter(Html& html, double ratio, Hue hue);
// The head of a table: names with their style's class ("r": to the right, "wide": not on a phone).
using Column = std::pair<const char*, const char*>;  // its heading, and its class
using Columns = std::initializer_list<Column>;
constexpr Column textColumn(const char* heading) { return {heading, ""}; }
constexpr Column numberColumn(const char* heading) { return {heading, "r"}; }
constexpr Column wideColumn(const char* heading = "") { return {heading, "wide"}; }
void header(Html& html, Columns names);
// A table that scrolls where it is too wide: rows are written until it ends.
class HtmlTable {
 public:
  HtmlTable(Html& html, Columns names)
      : scroll_(html.open("div", {{"class", "scroll"}})),
        table_(html.open("table")),
        body_(begin(html, names)) {}

 private:
  static Html::Element begin(Html& html, Columns names) {
    header(html, names);
    return html.open("tbody");
  }
  Html::Element scroll_, table_, body_;
};
// A cell whose content `body` writes.
template <class Body>
void cell(Html& html, const std::string& style, Body body) {
  const auto td = html.open("td", {{"class", style}});
  body();
}
// One that a number of the JSON report has to itself, and one that a bar has.
template <class Value>
void figureCell(Html& html, const std::string& path, const Value& value, std::string_view text) {
  cell(html, "r", [&] { figure(html, path, value, text); });
}
void meterCell(Html& html, const char* style, double ratio, Hue hue);
// The first of a row of the table, which a legend's square says the colour of.
void rowHead(Html& html, Hue hue, std::string_view text);
// At most `maximum` bytes of text from the job: the middle is left out where it is longer.
[[nodiscard]] std::string shortened(const std::string& text, std::size_t maximum);

// A part of a stacked bar; `name` is shown where it fits.
struct BarPart {
  Hue hue = Hue::kOther;
  double ratio = 0;
  std::string name, title;
  bool blank = false;  // holds its place only
};
// `shape`: "", "thin" or "slim".
void stackedBar(Html& html, const std::vector<BarPart>& parts, const std::string& shape);

// "left:12.5%;width:30%" of a page, by the percents of its parent.
[[nodiscard]] std::string placed(double left, double width);

// An axis from 0 to `top` in round numbers, with the unit said once.
struct Axis {
  double top = 1;
  std::vector<std::pair<double, std::string>> ticks;  // part of the axis 0..1, and its number
  std::string unit;
};
[[nodiscard]] Axis timeAxis(Nanos top, int about);
[[nodiscard]] Axis bytesAxis(double top, const std::string& per, int about);
[[nodiscard]] Axis countAxis(double top, const std::string& unit, int about);
[[nodiscard]] double nextRound(double number);  // 1, 2, 2.5, 5 or 10 times a power of ten

// The numbers down the side, and along the foot.
void downAxis(Html& html, const Axis& axis);
void footAxis(Html& html, const std::vector<std::pair<double, std::string>>& ticks);
// Horizontal lines of a drawing of 1,000 by `height`.
void gridLines(Html& html, const Axis& axis, double height);

}  // namespace stallprof
