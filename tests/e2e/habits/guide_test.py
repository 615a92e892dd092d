#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The documents: every page of the guide is a manual page with all of its text, renders without a
warning, and names only files, options and findings that exist; the README stays short."""
import glob
import os
import re
import shutil
import subprocess
import unittest

STALLPROF, SOURCE = os.environ["STALLPROF"], os.environ["SOURCE"]
GUIDE = os.path.join(SOURCE, "tools/stallprof/guide")
PAGES = sorted(glob.glob(os.path.join(GUIDE, "*.md")))
TEXTS = sorted(glob.glob(os.path.join(SOURCE, "tools/stallprof/manual/*.md")))
README = os.path.join(SOURCE, "README.md")
MANUAL = sorted(glob.glob(os.path.join(os.path.dirname(os.path.dirname(STALLPROF)), "share/man/man*/*")))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def output(words, stdin=""):
    done = subprocess.run(words, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def stallprof(*words):
    status, out, errors = output([STALLPROF, *words])
    assert status == 0, (words, errors)
    return out


def name_of(page):
    return "stallprof-guide-" + os.path.basename(page)[:-len(".md")]


def render(roff):
    """Plain text of a page, no word divided; what groff complains of."""
    _, text, errors = output(["groff", "-man", "-Tascii", "-ww", "-rHY=0", "-P-cbou"], roff)
    return text, errors


def prose(markdown):
    """Paragraphs, headings, items and cells, without marks of Markdown."""
    blocks, table = [""], 0
    for line in re.sub(r"^```.*?^```$", "", markdown, flags=re.M | re.S).splitlines():
        table = table + 1 if line.startswith("|") else 0
        if table in (1, 2):  # names of columns, and the line below them
            continue
        begins = not line or line.startswith(("#", "- ", "|"))
        if begins:
            blocks.append("")
        for cell in line.strip("|").split("|") if table else [re.sub(r"^(#+|-) ", "", line)]:
            blocks[-1] += " " + cell.strip()
            if table or line.startswith("#"):
                blocks.append("")
    plain = (re.sub(r"\[([^]]*)\]\(([\w-]+)\.md\)", r"\1 (stallprof-guide-\2(7))", block) for block in blocks)
    return [block for block in (re.sub(r"`|\*\*", "", block).strip() for block in plain) if block]


def squeezed(text):
    return re.sub(r"\s+", "", text)


class Guide(unittest.TestCase):
    def test_every_page_is_a_manual_page_with_all_of_its_text(self):
        self.assertTrue(shutil.which("groff"), "groff is needed: scripts/setup installs it")
        self.assertGreaterEqual(len(PAGES), 7)
        for page in PAGES:
            with self.subTest(page):
                roff, markdown = stallprof("manual", name_of(page)), read(page)
                self.assertTrue(roff.replace("\\-", "-").startswith(".TH %s 7 " % name_of(page).upper()))
                text, _ = render(roff)
                lines = {line.strip() for line in text.splitlines()}
                for line in re.findall(r"^```.*?\n(.*?)^```$", markdown, re.M | re.S):
                    for row in line.splitlines():
                        self.assertIn(row.strip(), lines)
                whole = squeezed(text)
                for block in prose(markdown):
                    self.assertIn(squeezed(block), whole)

    def test_every_page_is_listed_on_the_programs_page(self):
        also = stallprof("manual").replace("\\-", "-")
        for page in PAGES:
            self.assertIn("\\fB%s\\fR(7)" % name_of(page), also)

    def test_every_manual_page_renders_without_a_warning(self):
        self.assertTrue(shutil.which("groff"), "groff is needed: scripts/setup installs it")
        names = {os.path.basename(path) for path in MANUAL}
        self.assertLessEqual({name_of(page) + ".7" for page in PAGES}, names)
        for path in MANUAL:
            with self.subTest(path):
                self.assertEqual(render(read(path))[1], "")
                if shutil.which("mandoc"):
                    _, found, _ = output(["mandoc", "-Tlint", "-Wwarning", path])
                    # Without a date, so that the same source makes the same bytes.
                    self.assertEqual([line for line in found.splitlines() if "missing date" not in line], [])


class Documents(unittest.TestCase):
    def test_the_readme_is_short(self):
        self.assertLessEqual(os.path.getsize(README), 8192)

    def test_links_lead_to_files(self):
        for page in [README, *PAGES, *(os.path.join(SOURCE, name) for name in (
                "CHANGELOG.md", "src/README.md", "tests/README.md", "tools/programs/README.md"))]:
            text = re.sub(r"^```.*?^```$", "", read(page), flags=re.M | re.S)
            for target in re.findall(r"\]\(([^)\s]+)\)", text):
                if re.match(r"[a-z]+:", target):
                    continue
                path, _, anchor = target.partition("#")
                there = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
                self.assertTrue(os.path.exists(there), "%s: %s" % (page, target))
                self.assertEqual(anchor, "", "anchors break unseen: link to the page")

    def test_commands_have_the_options_that_are_shown(self):
        known = {}
        shown = 0
        for page in [README, *PAGES, *TEXTS]:
            for verb, rest in re.findall(r"stallprof ([a-z]+)((?: [^`\n]*)?)", read(page)):
                if verb not in known:
                    status, text, _ = output([STALLPROF, verb, "--help"])
                    lines = re.findall(r"^  ((?:-[\w-]+,?)+)", text, re.M) if status == 0 else []
                    known[verb] = [name for line in lines for name in line.split(",")]
                rest = re.sub(r'"\$\([^"]*\)"', "", rest)  # another command's
                before = re.split(r" -- |&&|\|| python ", rest.replace("\\", ""))[0]
                for option in re.findall(r"(?<![\w-])--?[a-z][\w-]*", before) if known[verb] else []:
                    shown += 1
                    self.assertIn(option, known[verb], "%s: stallprof %s%s" % (page, verb, rest))
        self.assertGreater(shown, 30)

    def test_findings_that_are_named_exist(self):
        ids = stallprof("explain").split()
        metrics = re.findall(r"^[a-z_.0-9]+", stallprof("manual", "stallprof-gate.toml"), re.M)
        for page in [README, *PAGES, *TEXTS]:
            for name in re.findall(r"`((?:extract|transform|load|compute|comm|periodic|host)\.[a-z_]+)`", read(page)):
                self.assertIn(name, [*ids, *metrics], page)


if __name__ == "__main__":
    unittest.main()
