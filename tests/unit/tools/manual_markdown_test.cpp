// SPDX-License-Identifier: MIT
#include "stallprof/manual_markdown.h"

#include "tests/catch.h"

namespace stallprof {
namespace {

TEST_CASE("what roff would interpret or beautify is escaped") {
  CHECK(roff("run --hz 5") == "run \\-\\-hz 5");
  CHECK(roff(".deb") == "\\&.deb");
  CHECK(roff("a.b") == "a.b");
  CHECK(roff("C:\\n") == "C:\\en");
  CHECK(roff("'a' `b` ~/c ^d") == "\\(aqa\\(aq \\(gab\\(ga \\(ti/c \\(had");
}

TEST_CASE("headings are sections, and the title is left out") {
  CHECK(titleOfMarkdown("# How to run\n\ntext\n") == "How to run");
  CHECK(titleOfMarkdown("text\n").empty());
  CHECK(roffOfMarkdown("# Title\n\n## While it runs\ntext\n### With `--gpu`\nmore\n") ==
        ".SH While it runs\ntext\n.SS With \\fB\\-\\-gpu\\fR\nmore\n");
}

TEST_CASE("lines of a paragraph are joined, and paragraphs are apart") {
  CHECK(roffOfMarkdown("one\ntwo\n\nthree\n") == "one two\n.PP\nthree\n");
}

TEST_CASE("an item of a list goes on in lines below it, and ends with the list") {
  CHECK(roffOfMarkdown("- one\n  more\n- two\n\nafter\n") ==
        ".IP \\(bu 2\none more\n.IP \\(bu 2\ntwo\n.PP\nafter\n");
}

TEST_CASE("fenced code is verbatim, whatever is in it") {
  CHECK(roffOfMarkdown("```sh\n# no title\n- x `y` **z**\n\n.so\n| a |\n```\nend\n") ==
        ".RS 4\n.nf\n# no title\n\\- x \\(gay\\(ga **z**\n\n\\&.so\n| a |\n.fi\n.RE\n.PP\nend\n");
  CHECK(roffOfMarkdown("```\nnever closed\n") == ".RS 4\n.nf\nnever closed\n.fi\n.RE\n");
}

TEST_CASE("rows of a table are tagged paragraphs, with the names of further columns") {
  CHECK(roffOfMarkdown("| key | is |\n|---|--:|\n| `a` | one |\n| b | two |\n\nend\n") ==
        ".TP\n\\fBa\\fR\none\n.TP\nb\ntwo\n.PP\nend\n");
  CHECK(roffOfMarkdown("| f | holds | opens in |\n|---|---|---|\n| x | all | any |\n") ==
        ".TP\nx\nall; opens in: any\n");
  CHECK(roffOfMarkdown("| a | b |\n|---|---|\n| 1 | 2 |\n\n| c | d |\n|---|---|\n| 3 | 4 |\n") ==
        ".TP\n1\n2\n.TP\n3\n4\n");
}

TEST_CASE("code, bold text and links are found within text, also over the end of a line") {
  CHECK(roffOfMarkdown("a `b\nc` d\n") == "a \\fBb c\\fR d\n");
  CHECK(roffOfMarkdown("**bold `code`.** end\n") == "\\fBbold \\fBcode\\fR.\\fR end\n");
  CHECK(roffOfMarkdown("see [the gate](gate.md).\n") ==
        "see the gate (\\fBstallprof\\-guide\\-gate\\fR(7)).\n");
  CHECK(roffOfMarkdown("see [it](https://example.org/a-b)\n") ==
        "see it (https://example.org/a\\-b)\n");
}

TEST_CASE("an unfinished span is text") {
  CHECK(roffOfMarkdown("[run]: a * b\n") == "[run]: a * b\n");
  CHECK(roffOfMarkdown("one ` and ** alone\n") == "one \\(ga and ** alone\n");
  CHECK(roffOfMarkdown("[[metric]], then [x](y.md)\n") ==
        "[[metric]], then x (\\fBstallprof\\-guide\\-y\\fR(7))\n");
  CHECK(roffOfMarkdown("").empty());
}

}  // namespace
}  // namespace stallprof
