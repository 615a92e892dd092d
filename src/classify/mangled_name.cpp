// SPDX-License-Identifier: MIT
#include "classify/mangled_name.h"

#include <algorithm>

namespace stallprof {
namespace {

constexpr std::size_t kMaxWords = 256;  // a name of 4 kB has no more that matter
constexpr unsigned kDeepest = 8;        // functions inside functions

struct Operator {
  std::string_view code, name;
};
constexpr Operator kOperators[] = {  // behind "operator"
    {"cl", "()"},        {"ix", "[]"}, {"aS", "="},    {"pl", "+"},      {"mi", "-"},
    {"ml", "*"},         {"dv", "/"},  {"rm", "%"},    {"pL", "+="},     {"mI", "-="},
    {"mL", "*="},        {"dV", "/="}, {"eq", "=="},   {"ne", "!="},     {"lt", "<"},
    {"gt", ">"},         {"le", "<="}, {"ge", ">="},   {"ls", "<<"},     {"rs", ">>"},
    {"pp", "++"},        {"mm", "--"}, {"pt", "->"},   {"de", "*"},      {"nt", "!"},
    {"aa", "&&"},        {"oo", "||"}, {"an", "&"},    {"or", "|"},      {"eo", "^"},
    {"co", "~"},         {"ng", "-"},  {"nw", " new"}, {"na", " new[]"}, {"dl", " delete"},
    {"da", " delete[]"}, {"ss", "<=>"}};
// "Sa" and its kin stand for names of the standard library.
constexpr Operator kStandard[] = {
    {"St", "std"},          {"Sa", "std::allocator"}, {"Sb", "std::basic_string"},
    {"Ss", "std::string"},  {"Si", "std::istream"},   {"So", "std::ostream"},
    {"Sd", "std::iostream"}};

bool isDigit(char c) { return c >= '0' && c <= '9'; }

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::optional<MangledName> read() {
    if (!skip("_Z") || !function(0) || out_.qualified.empty()) return std::nullopt;
    return std::move(out_);
  }

 private:
  // A function's name. One inside of another follows that one's name and parameters.
  bool function(unsigned depth) {
    skip("L");
    if (skip("Z")) {
      if (depth == kDeepest || !function(depth + 1)) return false;
      while (!done() && token()) {
      }
      return !done() && function(depth + 1);
    }
    const bool nested = skip("N");
    while (nested && (at('K') || at('V') || at('r') || at('R') || at('O'))) ++pos_;
    while (!done() && !(nested && at('E'))) {
      const bool prefix = at('S');
      if (!component()) return false;
      if (!nested && !prefix && !at('I')) break;  // what follows are the parameters
    }
    return !nested || skip("E");
  }
  [[nodiscard]] bool done() const { return pos_ >= text_.size(); }
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return pos_ + ahead < text_.size() ? text_[pos_ + ahead] : '\0';
  }
  [[nodiscard]] bool at(char c) const { return peek() == c; }
  bool skip(std::string_view part) {
    if (!text_.substr(std::min(pos_, text_.size())).starts_with(part)) return false;
    pos_ += part.size();
    return true;
  }
  // Up to and with the next `end`.
  void skipPast(char end) {
    const std::size_t found = text_.find(end, pos_);
    pos_ = found == std::string_view::npos ? text_.size() : found + 1;
  }

  // "6native": its length, then the word. Empty where it is damaged.
  std::string_view sourceName() {
    std::size_t length = 0;
    while (isDigit(peek()) && length < text_.size()) {
      length = length * 10 + static_cast<std::size_t>(peek() - '0');
      ++pos_;
    }
    if (length == 0 || length > text_.size() - pos_) {
      pos_ = text_.size();
      return {};
    }
    pos_ += length;
    return text_.substr(pos_ - length, length);
  }

  // A class, maybe: what a constructor or destructor behind it is of.
  bool appendNamed(std::string_view name) {
    if (!name.starts_with("_GLOBAL__N")) last_ = name;
    return append(name);
  }

  bool append(std::string_view name) {
    if (!name.starts_with("_GLOBAL__N"))
      out_.qualified.append(out_.qualified.empty() ? "" : "::").append(name);
    return true;
  }

  // One part of the function's own name.
  bool component() {
    if (isDigit(peek())) {
      const std::string_view name = sourceName();
      appendNamed(name);
      return !name.empty();
    }
    for (const Operator& known : kStandard)
      if (skip(known.code)) return appendNamed(known.name);
    if ((at('C') || at('D')) && isDigit(peek(1))) {
      const std::string tilde = at('D') ? "~" : "";
      pos_ += 2;
      return append(tilde + last_);
    }
    for (const Operator& known : kOperators)
      if (skip(known.code)) return append("operator" + std::string(known.name));
    if (skip("L")) return true;
    if (skip("B")) return !sourceName().empty();
    if (at('U') && peek(1) == 'l') append("{lambda}");
    if (at('I') || at('U')) return arguments();
    return false;  // conversions and what else is rare
  }

  void literal() {
    ++pos_;
    if (skip("_Z")) return open('L');
    if (isDigit(peek()))
      sourceName();
    else if (at('N'))
      arguments();
    else if (at('S'))
      substitution();
    else
      ++pos_;
    skipPast('E');
  }

  void substitution() {
    ++pos_;
    if (at('_') || isDigit(peek()) || (peek() >= 'A' && peek() <= 'Z'))
      skipPast('_');
    else
      ++pos_;
  }

  void open(char kind) { stack_ += kind; }
  void close() {
    const char kind = stack_.back();
    stack_.pop_back();
    if (kind == 'U') skipPast('_');  // a lambda's number
  }

  void word() {
    const std::string_view name = sourceName();
    if (!name.empty() && out_.words.size() < kMaxWords) out_.words.push_back(name);
  }

  // A bracket of any kind, with all that is in it: found by its letters alone.
  bool arguments() {
    const std::size_t outer = stack_.size();
    do {
      if (!token()) return false;
    } while (stack_.size() > outer && !done());
    return stack_.size() == outer;
  }

  bool token() {
    const char c = peek();
    if (isDigit(c)) {
      word();
      return true;
    }
    switch (c) {
      case 'L':
        literal();
        break;
      case 'S':
        substitution();
        break;
      case 'T':
      case 'A':
        ++pos_;
        if (at('_') || isDigit(peek())) skipPast('_');
        break;
      case 'U':
        ++pos_;
        if (at('l')) open('U');
        if (at('t'))
          skipPast('_');
        else
          ++pos_;
        break;
      case 'D':
        if (peek(1) == 'T' || peek(1) == 't') open('D');
        if (peek(1) == 'v')
          skipPast('_');
        else
          pos_ += 2;
        break;
      case 'I':
      case 'N':
      case 'X':
      case 'J':
      case 'F':
      case 'Z':
        ++pos_;
        open(c);
        break;
      case 'E':
        ++pos_;
        if (stack_.empty()) return false;
        close();
        break;
      default:
        ++pos_;
    }
    return true;
  }

  std::string_view text_;
  std::size_t pos_ = 0;
  std::string stack_;  // brackets that are open
  std::string last_;   // the name a constructor is called by
  MangledName out_;
};

}  // namespace

std::optional<MangledName> readMangled(std::string_view raw) { return Reader(raw).read(); }

}  // namespace stallprof
