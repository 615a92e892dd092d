#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Refuses retired words in identifiers, comments, help, report text and pages, so that one term keeps
one meaning.

usage: check_words.py [PATH...]     exits 1 with a line for each use"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# What to write instead.
RETIRED = {
    "look": "sample (noun), read, inspect, check (verb)",
    "told": "annotated, reported, emitted, known",
    "tell": "report, emit, write, annotate, distinguish",
    "stretch": "interval",
    "lap": "iteration",
    "anew": "again, re-",
    "mend": "fix",
    "chore": "overhead",
    "doer": "producer",
    "wish": "option, request",
    "theft": "buffer taken by another client",
    "thief": "buffer taken by another client",
    "borne": "tolerated",
    "kFewest": "kMin",
    "by lot": "at random",
    "held against": "compared with",
    "give back": "return, release",
    "doubt": "uncertain",
    "standing": "blocked",
    "dark": "untraced",
}
FORMS = {"look": "look|looks|looked|looking", "tell": "tell|tells|teller|tellers|telling",
         "stretch": "stretch|stretches", "lap": "lap|laps", "mend": "mend|mends|mended",
         "chore": "chore|chores", "doer": "doer|doers", "wish": "wish|wishes",
         "give back": r"g[ia]v(?:e|es|en|ing)\s(?:\w+\s)?back", "doubt": r"doubt\w*",
         "held against": r"h[eo]ld(?:s|ing)? (?:\w+ )?against", "by lot": r"by\slots?"}
PLAIN = re.compile("|".join(rf"(?P<w{i}>(?<![A-Za-z])(?:{FORMS.get(word, word)})(?![a-z]))"
                            for i, word in enumerate(RETIRED) if not word.startswith("k")), re.I)
PREFIX = re.compile(r"\b(kFewest)(?=[A-Z]|\b)")
# As parts of identifiers: first, `tellFatal`, or later, `writeAnew`.
FIRST = re.compile(r"(?<![A-Za-z])((?:look|tell|stretch|mend|chore|doer|wish|doubt)(?=[A-Z])|g[ia]v(?:e|es|en|ing)Back(?![a-z]))")
CAMEL = re.compile(r"[a-z](Looks?|Told|Tells?|Teller|Stretch(?:es)?|Laps?|Anew|Mends?|Chores?|Doers?|Wish(?:es)?|Dark|Doubts?|"
                   r"Standing|G[ia]v(?:e|es|en|ing)Back)(?![a-z])")
# Of names in code alone, as text is full of both: `kMostRows`, `atMost`, `least_`, `MOST_ROUNDS`. Max and min.
BOUND = re.compile(r"(?:(?<![A-Za-z])(?:most|least)|(?<=[a-z0-9])(?:Most|Least)|(?<![A-Za-z])(?:Most|Least))(?![a-z])")
CONSTANT = re.compile(r"(?<![A-Za-z])(?:MOST|LEAST)(?=_|\b *[,=<>])")
# Comments, then literals: neither is code.
NO_CODE = re.compile(r"//[^\n]*|/\*.*?\*/|R\"(\w*)\(.*?\)\1\"|\"(?:\\.|[^\"\\\n])*\"|(?<![\w])'(?:\\.|[^'\\\n])+'", re.S)
# Data that other programs wrote, and this list.
SKIPPED = ("scripts/check_words.py", "tests/fixtures/", "tests/fuzz/corpus/", "tests/recordings/", "LICENSE")
# Where a word has another meaning: of a page's colours.
MEANT = {"dark": ("src/present/html/", "tests/e2e/report/")}
CODE = (".h", ".c", ".cpp")
KINDS = (*CODE, ".py", ".md", ".toml", ".txt", ".json", ".html", ".cmake", "")


def without_text(code):
    """C or C++ of as many lines, comments and literals blank."""
    return NO_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), code)


def uses(path):
    text = path.read_text(errors="replace")
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        for pattern in (PLAIN, PREFIX, FIRST, CAMEL, *([CONSTANT] if path.suffix in (".py", "") else [])):
            for found in pattern.finditer(line):
                if not path.relative_to(ROOT).as_posix().startswith(MEANT.get(found.group(0).lower(), ("\0",))):
                    yield number, found.group(0), line.strip()
    if path.suffix not in CODE:
        return
    for number, line in enumerate(without_text(text).splitlines(), 1):
        for found in BOUND.finditer(line):
            yield number, found.group(0), lines[number - 1].strip()


def files(paths, kinds):
    names = subprocess.run(["git", "ls-files", "--", *paths], cwd=ROOT, capture_output=True, text=True,
                           check=True).stdout.splitlines()
    for name in names:
        path = ROOT / name
        if not name.startswith(SKIPPED) and path.suffix in kinds and path.is_file() and not path.is_symlink():
            yield name, path


def run(check, find, kinds, what):
    """`find` on each file of these kinds; the exit status."""
    lines = [f"{name}:{number}: {what}: '{found}': {line[:120]}" for name, path in files(sys.argv[1:], kinds)
             for number, found, line in find(path)]
    if lines:
        print("\n".join(lines))
        print(f"{check}: {len(lines)} {what}", file=sys.stderr)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(run("words", uses, KINDS, "retired words"))
