// SPDX-License-Identifier: MIT
#include <algorithm>

#include "base/units.h"
#include "present/html/html_sections.h"
#include "present/words/wording.h"
#include "present/words/wording_native.h"

namespace stallprof {
namespace {

constexpr std::size_t kMaxNativeFunctions = 16;

void nativeRow(Html& html, const NativeInfo::Function& f, const std::string& path) {
  const auto row = html.open("tr");
  html.add("th", {{"scope", "row"}}, f.className);
  cell(html, "r", [&] { figure(html, path + ".ratio", f.leaf.ratio, percentText(f.leaf.ratio)); });
  cell(html, "",
       [&] { html.add("code", f.leaf.known() ? shortened(nameOf(f.leaf), 200) : "(unknown)"); });
  cell(html, "", [&] {
    if (f.below.known()) html.add("code", shortened(lineText(f.below), 200));
  });
  html.add("td", {{"class", "quiet wide"}}, f.role);
}

}  // namespace

void nativeSection(Html& html, const Analysis& a) {
  if (!a.native) return;
  const auto section = html.open("section", {{"id", "native"}});
  html.add("h2", "What the CPUs ran");
  html.add("p", {{"class", "intro"}}, "Shares of " + nativeHead(*a.native) + ", of all processes.");
  const HtmlTable table(
      html, {textColumn("kind"), numberColumn("share"), textColumn("library and function"),
             textColumn("under this Python"), wideColumn("role")});
  for (std::size_t i = 0; i < std::min(a.native->functions.size(), kMaxNativeFunctions); ++i)
    nativeRow(html, a.native->functions[i], "native.functions." + std::to_string(i));
}

}  // namespace stallprof
