// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace stallprof {

// Text for roff (groff and mandoc): characters that roff interprets, or that it replaces by
// typographic ones which a shell does not accept, are escaped; no line is read as a request.
[[nodiscard]] std::string roff(std::string_view text);

// The body of a manual page, for the man macros, from the Markdown that the manual is written in:
// `##` and `###` headings, paragraphs, `- ` lists of one level, fenced code, tables (rows become
// tagged paragraphs, since man pages are not preprocessed by tbl everywhere), and within text
// `code`, **bold** and [links](target). A link to NAME.md becomes a reference to
// stallprof-guide-NAME(7). A `#` title is left out. Anything else is text.
[[nodiscard]] std::string roffOfMarkdown(std::string_view markdown);

// The text of the first `#` heading; empty if there is none.
[[nodiscard]] std::string_view titleOfMarkdown(std::string_view markdown);

}  // namespace stallprof
