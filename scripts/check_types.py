#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Refuses two types of one name in one namespace: where both have a destructor the linker keeps one of
the two, and the other type's objects are destroyed by it. Compilers see one file at a time.

usage: check_types.py     exits 1 with a line for each name"""

import collections
import pathlib
import re
import sys

import check_words

ROOT = pathlib.Path(__file__).parent.parent
NAMESPACE = re.compile(r"(?:inline )?namespace\s*([\w:]*)\s*\{")
TYPE = re.compile(r"(?:struct|class|union|enum(?: class)?)\s+(?:\[\[\w+\]\]\s+|alignas\(\w+\)\s+)*([\w:]+)\b"
                  r"(?:\s+final)?(?:\s*:[^;{]*)?\s*\{")


def types(text):
    """The qualified name of each type that a file defines in a namespace with a name."""
    scopes, at = [], 0
    text = check_words.without_text(text)
    while at < len(text):
        if (named := NAMESPACE.match(text, at)) and not text[at - 1:at].isalnum():
            scopes.append(named.group(1))
        elif (named := TYPE.match(text, at)) and not re.match(r"[\w<]", text[at - 1:at]):
            if all(scopes):
                yield "::".join([*scopes, named.group(1)])
            scopes.append("")
        elif text[at] == "{":
            scopes.append("")
        elif text[at] == "}" and scopes:
            scopes.pop()
        at = named.end() if named else at + 1


def main():
    files = collections.defaultdict(set)
    for place in ("src", "tools", "include"):
        for path in sorted((ROOT / place).rglob("*")):
            if path.suffix in (".h", ".cpp"):
                for name in types(path.read_text()):
                    files[name].add(str(path.relative_to(ROOT)))
    twice = {name: places for name, places in files.items() if len(places) > 1}
    for name, places in sorted(twice.items()):
        print(f"check: {name} is defined in {' and in '.join(sorted(places))}: rename one", file=sys.stderr)
    return 1 if twice else 0


if __name__ == "__main__":
    sys.exit(main())
