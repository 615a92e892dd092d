// SPDX-License-Identifier: MIT
#include "present/html/report_html.h"

#include "present/html/html_sections.h"
#include "present/words/wording.h"

namespace stallprof {
namespace {

void headOfPage(Html& html, const Analysis& a) {
  const auto head = html.open("head");
  html.empty("meta", {{"charset", "utf-8"}});
  // Nothing may be loaded, run or sent from this page: whatever a name in it says.
  html.empty("meta", {{"http-equiv", "Content-Security-Policy"},
                      {"content",
                       "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "
                       "form-action 'none'"}});
  html.empty("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}});
  html.empty("meta", {{"name", "color-scheme"}, {"content", "light dark"}});
  html.add("title", "stallprof: " + shortened(commandText(a.run), 120));
  const auto style = html.open("style");
  html.verbatim(reportStyle());
}

struct Link {
  Literal id;
  const char* name;
  bool there;
};

void navigation(Html& html, const Analysis& a, const Picture& picture) {
  const auto nav = html.open("nav", {{"aria-label", "sections"}});
  for (const Link& place :
       {Link{"#time", "Where time goes", true}, Link{"#findings", "What holds it back", true},
        Link{"#steps", "Every step", !picture.strip.bars.empty()},
        Link{"#lanes", "Two steps in full", picture.median.has_value()},
        Link{"#resources", "Resources", !picture.panels.empty()},
        Link{"#device", "GPU", a.device.has_value()},
        Link{"#stacks", "Python code", !picture.flames.empty() || !a.functions.empty()},
        Link{"#native", "Native code", a.native.has_value()},
        Link{"#ceilings", "What if", !a.ceilings.empty()},
        Link{"#tune", "Settings", a.tuned && !a.tuned->settings.empty()},
        Link{"#epochs", "Epochs", !a.epochs.empty()},
        Link{"#files", "Files", !picture.files.empty()}, Link{"#environment", "Environment", true}})
    if (place.there) html.add("a", {{"href", std::string(place.id.view())}}, place.name);
}

}  // namespace

std::string reportHtml(const Analysis& a, const PresentOptions& options) {
  const Picture none;
  const Picture& picture = options.picture != nullptr ? *options.picture : none;
  Html html;
  html.verbatim("<!DOCTYPE html>\n");
  {
    const auto root = html.open("html", {{"lang", "en"}});
    headOfPage(html, a);
    const auto body = html.open("body");
    html.add("a", {{"class", "skip"}, {"href", "#verdict"}}, "Skip to the verdict");
    headSection(html, a);
    {
      const auto main = html.open("main");
      verdictSection(html, a, options);
      navigation(html, a, picture);
      timeSection(html, a);
      findingsSection(html, a);
      stepsSection(html, a, picture);
      laneSection(html, picture);
      resourcesSection(html, a, picture);
      deviceSection(html, a);
      stacksSection(html, a, picture);
      nativeSection(html, a);
      whatIfSection(html, a);
      tuningSection(html, a);
      epochsSection(html, a);
      trainersSection(html, a);
      filesSection(html, picture);
      environmentSection(html, a, options);
      coverageSection(html, a);
    }
    const auto footer = html.open("footer");
    html.add("div",
             "The same figures for programs: stallprof report --format json. A number that was not "
             "measured is never shown as 0.");
  }
  html.verbatim("\n");
  return html.str();
}

}  // namespace stallprof
