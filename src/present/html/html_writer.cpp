// SPDX-License-Identifier: MIT
#include "present/html/html_writer.h"

#include <fmt/core.h>

#include <cmath>

#include "base/text.h"

namespace stallprof {
namespace {

// A drawn path of a thousand points is 20 kB: far below, and what a name of the job's may cost.
constexpr std::size_t kLongestValue = 256u << 10;

}  // namespace

std::string drawn(double number) {
  if (!std::isfinite(number)) return "0";
  std::string text = fmt::format("{:.2f}", number);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

Html::Element::~Element() { html_.out_.append("</").append(tag_.view()).append(">"); }

void Html::begin(Literal tag, Attributes attributes, bool closed) {
  out_.append("<").append(tag.view());
  for (const Attribute& a : attributes)
    out_.append(" ")
        .append(a.name.view())
        .append("=\"")
        .append(escapeMarkup(a.value, kLongestValue))
        .append("\"");
  out_ += closed ? "/>" : ">";
}

Html::Element Html::open(Literal tag, Attributes attributes) {
  begin(tag, attributes, false);
  return {*this, tag};
}

void Html::add(Literal tag, Attributes attributes, std::string_view words) {
  const Element element = open(tag, attributes);
  text(words);
}

void Html::empty(Literal tag, Attributes attributes) { begin(tag, attributes, true); }

void Html::text(std::string_view words) { out_ += escapeMarkup(words); }

}  // namespace stallprof
