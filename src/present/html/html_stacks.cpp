// SPDX-License-Identifier: MIT
#include <algorithm>

#include "base/units.h"
#include "present/html/html_sections.h"
#include "present/words/wording.h"
#include "present/words/wording_functions.h"

namespace stallprof {
namespace {

constexpr std::size_t kMaxFunctions = 16;
constexpr std::size_t kMaxNativeFunctions = 16;
constexpr std::int64_t kMinFunctionSamples = 20;  // an interval of fewer is wider than what it says

void functionRow(Html& html, const FunctionInfo& f, const std::string& path) {
  const auto row = html.open("tr");
  rowHead(html, hueOf(f.phase), nameOf(f.phase));
  figureCell(html, path + ".phase_ratio", f.phaseRatio, percentText(f.phaseRatio));
  cell(html, "", [&] { html.add("code", shortened(lineText(f.hot), 200)); });
  cell(html, "", [&] {
    const std::string from = lineText(f.where);
    if (from != lineText(f.hot)) html.add("code", shortened(from, 200));
  });
  html.add("td", {{"class", "quiet wide"}}, shortened(f.rule, 80));
}

void functions(Html& html, const Analysis& a) {
  if (a.functions.empty()) return;
  const HtmlTable table(
      html, {textColumn("phase"), numberColumn("share of it"), textColumn("innermost function"),
             textColumn("called from your line"), wideColumn("rule")});
  std::size_t rows = 0;
  for (std::size_t i = 0; i < a.functions.size(); ++i) {
    const FunctionInfo& f = a.functions[i];
    if (f.samples < kMinFunctionSamples || !f.hot.known() || rows++ >= kMaxFunctions) continue;
    functionRow(html, f, "functions." + std::to_string(i));
  }
}

void nativeRow(Html& html, const NativeInfo::Function& f, const std::string& path) {
  const auto row = html.open("tr");
  html.add("th", {{"scope", "row"}}, f.className);
  figureCell(html, path + ".ratio", f.leaf.ratio, percentText(f.leaf.ratio));
  cell(html, "",
       [&] { html.add("code", f.leaf.known() ? shortened(nameOf(f.leaf), 200) : "(unknown)"); });
  cell(html, "", [&] {
    if (f.below.known()) html.add("code", shortened(lineText(f.below), 200));
  });
  html.add("td", {{"class", "quiet wide"}}, f.role);
}

}  // namespace

void stacksSection(Html& html, const Analysis& a, const Picture& picture) {
  if (picture.flames.empty() && a.functions.empty()) return;
  const auto section = html.open("section", {{"id", "stacks"}});
  html.add("h2", "Python stacks");
  functions(html, a);
  if (picture.flames.empty()) return;
  html.add("p", {{"class", "intro"}},
           "Samples of each thread's Python stack, with callers above callees. The width of a "
           "frame is its share of the samples. The colour is the phase of most of these samples. "
           "Your own code has the stronger shade.");
  for (const Flame& flame : picture.flames) {
    {
      const auto head = html.open("div", {{"class", "shead"}});
      html.add("h3", flame.title);
      html.add("span", {{"class", "quiet"}},
               countOf(static_cast<std::int64_t>(flame.samples), "sample"));
    }
    const auto box = html.open(
        "div", {{"class", "flame"}, {"style", "height:" + drawn(flame.depth * 1.3) + "rem"}});
    for (const FlameFrame& frame : flame.frames) {
      const bool named = frame.width >= 0.04;
      html.add(
          "span",
          {{"class", std::string("b ") + std::string(nameOf(frame.hue)) +
                         (frame.users ? " own" : "") + (named ? " named" : "")},
           {"style", placed(frame.begin, frame.width) + ";top:" + drawn(frame.depth * 1.3) + "rem"},
           {"title", shortened(frame.name, 200) + "  " + shortened(frame.place, 300) + "  " +
                         percentText(frame.width)}},
          named ? shortened(frame.name, 80) : "");
    }
  }
}

void nativeSection(Html& html, const Analysis& a) {
  if (!a.native) return;
  const auto section = html.open("section", {{"id", "native"}});
  html.add("h2", "Native code");
  html.add("p", {{"class", "intro"}}, "Shares of " + nativeHead(*a.native) + ", of all processes.");
  const HtmlTable table(
      html, {textColumn("kind"), numberColumn("share"), textColumn("library and function"),
             textColumn("under this Python"), wideColumn("role")});
  for (std::size_t i = 0; i < std::min(a.native->functions.size(), kMaxNativeFunctions); ++i)
    nativeRow(html, a.native->functions[i], "native.functions." + std::to_string(i));
}

}  // namespace stallprof
