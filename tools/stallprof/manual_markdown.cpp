// SPDX-License-Identifier: MIT
#include "stallprof/manual_markdown.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace stallprof {
namespace {

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// Special characters by their names, and a minus as one.
std::string escaped(std::string_view text) {
  constexpr std::pair<char, std::string_view> kEscapes[] = {
      {'\\', "\\e"}, {'-', "\\-"}, {'\'', "\\(aq"}, {'`', "\\(ga"}, {'^', "\\(ha"}, {'~', "\\(ti"}};
  std::string out;
  for (const char c : text) {
    const auto* const escape = std::find_if(std::begin(kEscapes), std::end(kEscapes),
                                            [&](const auto& each) { return each.first == c; });
    if (escape == std::end(kEscapes))
      out += c;
    else
      out += escape->second;
  }
  return out;
}

// A line that begins with a dot is a request.
std::string guardOf(std::string_view line) { return line.starts_with('.') ? "\\&" : ""; }

std::string bold(const std::string& text) { return "\\fB" + text + "\\fR"; }

std::string inlineText(std::string_view text);

// "the text (stallprof-guide-NAME(7))" for pages of the guide, else "the text (target)".
std::string linkText(std::string_view text, std::string_view target) {
  constexpr std::string_view kSuffix = ".md";
  const bool guide = target.ends_with(kSuffix) && target.find('/') == std::string_view::npos;
  if (guide) target.remove_suffix(kSuffix.size());
  return inlineText(text) + " (" +
         (guide ? bold("stallprof\\-guide\\-" + escaped(target)) + "(7)" : escaped(target)) + ")";
}

// The span that `text` begins with, as roff, and its length; 0: it begins with none.
std::size_t takeSpan(std::string_view text, std::string& out) {
  const auto between = [&](std::string_view mark) {
    const std::size_t end = text.find(mark, mark.size());
    return end == std::string_view::npos ? end : end - mark.size();
  };
  if (text[0] == '`') {
    const std::size_t length = between("`");
    if (length == std::string_view::npos) return 0;
    out += bold(escaped(text.substr(1, length)));
    return length + 2;
  }
  if (text.starts_with("**")) {
    const std::size_t length = between("**");
    if (length == std::string_view::npos) return 0;
    out += bold(inlineText(text.substr(2, length)));
    return length + 4;
  }
  if (text[0] != '[') return 0;
  const std::size_t middle = text.find(']');
  if (middle == std::string_view::npos || !text.substr(middle).starts_with("](")) return 0;
  const std::size_t end = text.find(')', middle);
  if (end == std::string_view::npos) return 0;
  out += linkText(text.substr(1, middle - 1), text.substr(middle + 2, end - middle - 2));
  return end + 1;
}

std::string inlineText(std::string_view text) {
  std::string out = guardOf(text);
  std::size_t plain = 0, at = 0;
  while (at < text.size()) {
    std::string span;
    const std::size_t length = takeSpan(text.substr(at), span);
    if (length == 0) {
      ++at;
      continue;
    }
    out += escaped(text.substr(plain, at - plain)) + span;
    at += length;
    plain = at;
  }
  return out + escaped(text.substr(plain));
}

std::vector<std::string_view> cellsOf(std::string_view row) {
  row.remove_prefix(1);
  std::vector<std::string_view> cells;
  for (std::size_t end = row.find('|'); end != std::string_view::npos; end = row.find('|')) {
    cells.push_back(trimmed(row.substr(0, end)));
    row.remove_prefix(end + 1);
  }
  return cells;
}

class Converter {
 public:
  std::string convert(std::string_view markdown) {
    while (!markdown.empty()) {
      const std::string_view line = markdown.substr(0, markdown.find('\n'));
      markdown.remove_prefix(std::min(line.size() + 1, markdown.size()));
      code_ ? takeCode(line) : takeLine(line);
    }
    flush();
    if (code_) out_ += ".fi\n.RE\n";
    return std::move(out_);
  }

 private:
  void takeCode(std::string_view line) {
    code_ = !line.starts_with("```");
    out_ += code_ ? roff(line) + "\n" : ".fi\n.RE\n";
  }

  void takeLine(std::string_view line) {
    const bool heading = line.starts_with("## ") || line.starts_with("### ");
    const bool begins = heading || line.empty() || line.starts_with("# ") ||
                        line.starts_with("```") || line.starts_with("- ") || line.starts_with("|");
    if (begins) flush();
    if (!line.starts_with("|")) columns_.clear();
    if (heading) {
      const std::size_t level = line.find(' ');
      out_ += (level == 2 ? ".SH " : ".SS ") + inlineText(line.substr(level + 1)) + "\n";
      afterHeading_ = true;
    } else if (line.starts_with("```")) {
      beginParagraph();
      out_ += ".RS 4\n.nf\n";
      code_ = true;
    } else if (line.starts_with("|")) {
      takeRow(cellsOf(line));
    } else if (!line.starts_with("# ")) {
      item_ = item_ || line.starts_with("- ");
      const std::string_view words = trimmed(line.substr(line.starts_with("- ") ? 2 : 0));
      if (!text_.empty() && !words.empty()) text_ += ' ';
      text_ += words;
    }
  }

  // The first row names the columns, the second separates, the others become tagged paragraphs.
  void takeRow(const std::vector<std::string_view>& cells) {
    if (columns_.empty()) {
      columns_.assign(cells.begin(), cells.end());
      return;
    }
    if (cells.empty() || cells[0].starts_with("---")) return;
    out_ += ".TP\n" + inlineText(cells[0]) + "\n";
    std::string rest;
    for (std::size_t i = 1; i < cells.size(); ++i) {
      if (i > 1) rest += (i < columns_.size() ? "; " + columns_[i] + ": " : "; ");
      rest += cells[i];
    }
    out_ += inlineText(rest) + "\n";
    afterHeading_ = false;
  }

  // Lists and tables indent what follows them; .PP ends that. After a heading it would be an error.
  void beginParagraph() {
    if (!afterHeading_) out_ += ".PP\n";
    afterHeading_ = false;
  }

  void flush() {
    if (text_.empty()) return;
    if (item_) {
      out_ += ".IP \\(bu 2\n";
      afterHeading_ = false;
    } else {
      beginParagraph();
    }
    out_ += inlineText(text_) + "\n";
    text_.clear();
    item_ = false;
  }

  std::string out_, text_;  // `text_`: of the paragraph or list item that is being read
  bool item_ = false, code_ = false, afterHeading_ = true;
  std::vector<std::string> columns_;  // of the table that is being read
};

}  // namespace

std::string roff(std::string_view text) { return guardOf(text) + escaped(text); }

std::string roffOfMarkdown(std::string_view markdown) { return Converter().convert(markdown); }

std::string_view titleOfMarkdown(std::string_view markdown) {
  if (!markdown.starts_with("# ")) return {};
  return markdown.substr(2, markdown.find('\n') - 2);
}

}  // namespace stallprof
