#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Refuses assignments, calls and increments joined by a comma (`a = 1, b(2), ++c;`): a statement of its own for each.
A list of fields given to a visitor (`v("name", h.name), v("kernel", h.kernel);`) is one.

usage: check_statements.py [PATH...]     exits 1 with a line for each use"""

import re
import sys

import check_words

CONTROL = re.compile(r"^(?:else|do|case (?:[^:]|::)*:(?!:)|default:|\w+:(?!:))\s+|^(?:if|while|for|switch)(?: constexpr)?\s*\(")
ASSIGNMENT = re.compile(r"^(?:\+\+|--)?[\w.:*()\[\]>-]+\s*(?:[-+*/|&^%]|<<|>>)?=(?!=)")
CALL = re.compile(r"^[\w.:>\[\]-]+\(.*\)$|^\+\+|^--", re.S)
NO_STATEMENT = re.compile(r"^(?:using|typedef|template|return|co_return)\b|^v\(")


INITIALIZER_ENDS = re.compile(r"\}\s*[,;)\]}.+?:*/-]")


def statements(text):
    """(line, [parts between commas]) of each statement that ends in a semicolon."""
    stack, parts, line, begun = [], [""], 1, 0
    depth = 0
    text = check_words.without_text(text)
    for at, c in enumerate(text):
        line += c == "\n"
        if c == "{":
            stack.append((parts, depth, begun))
            parts, depth, begun = [""], 0, 0
        elif c == "}" and stack:
            parts, depth, begun = stack.pop()
            if depth == 0 and not INITIALIZER_ENDS.match(text, at):
                parts, begun = [""], 0
        elif c == ";" and depth == 0:
            yield begun, parts
            parts, begun = [""], 0
        elif c == "," and depth == 0:
            parts.append("")
        else:
            depth += (c in "([") - (c in ")]")
            begun = begun or (0 if c.isspace() else line)
            parts[-1] += c


def without_control(part):
    part = part.strip()
    while control := CONTROL.match(part):
        end = control.end()
        if control.group(0).endswith("("):
            depth = 1
            while depth and end < len(part):
                depth += (part[end] == "(") - (part[end] == ")")
                end += 1
        part = part[end:].strip()
    return part


def is_joined(parts):
    parts = [without_control(parts[0]), *parts[1:]]
    first = parts[0].partition("=")[0].rstrip("+-*/|&^%<> ")
    if parts[0].replace("<<", "").count("<") > parts[0].count(">"):
        return False  # a template's arguments
    if len(parts) < 2 or NO_STATEMENT.match(parts[0]):
        return False
    declared = re.search(r"\w[\s*&>]+\w", re.sub(r"[(\[].*[)\]]", "", first, flags=re.S))
    stripped = [part.strip() for part in parts]
    return not declared and (any(map(ASSIGNMENT.match, stripped)) or any(map(CALL.match, stripped[1:])))


def uses(path):
    for line, parts in statements(path.read_text(errors="replace")):
        if is_joined(parts):
            yield line, "=,", " ".join(",".join(parts).split())


if __name__ == "__main__":
    sys.exit(check_words.run("statements", uses, (".h", ".c", ".cpp"), "statements joined by a comma"))
