// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace stallprof {

// A string that stood in our source when it was compiled: the only kind that may be markup.
class Literal {
 public:
  consteval Literal(const char* text) : text_(text) {}  // implicit: literals read as names
  [[nodiscard]] constexpr std::string_view view() const { return text_; }

 private:
  std::string_view text_;
};

struct Attribute {
  Literal name;
  std::string value;
};
using Attributes = std::initializer_list<Attribute>;

// A number of a drawing: at most two decimals, never an exponent; 0 where it is not finite.
[[nodiscard]] std::string drawn(double number);

// Writes HTML (and inline SVG) top down. Names are literals, all else is escaped on its way in, and
// what was opened is closed: no text of a recording's can become markup. Not thread-safe.
class Html {
 public:
  // Closes its element. Elements end in the reverse order of their beginning, as scopes do.
  class Element {
   public:
    Element(const Element&) = delete;
    Element& operator=(const Element&) = delete;
    ~Element();

   private:
    friend class Html;
    Element(Html& html, Literal tag) : html_(html), tag_(tag) {}
    Html& html_;
    Literal tag_;
  };

  [[nodiscard]] Element open(Literal tag, Attributes attributes = {});
  // A whole element with nothing but text in it.
  void add(Literal tag, Attributes attributes, std::string_view text);
  void add(Literal tag, std::string_view text) { add(tag, {}, text); }
  // One that has no end tag in HTML, as <br>; or an empty one of SVG, as <path/>.
  void empty(Literal tag, Attributes attributes = {});
  void text(std::string_view text);
  // Our own markup, as it stands: the style sheet and the document type.
  void verbatim(Literal markup) { out_ += markup.view(); }

  [[nodiscard]] const std::string& str() const { return out_; }

 private:
  void begin(Literal tag, Attributes attributes, bool closed);

  std::string out_;
};

}  // namespace stallprof
