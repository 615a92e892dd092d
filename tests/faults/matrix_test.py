# SPDX-License-Identifier: MIT
"""matrix.txt names every row, and only tests that there are: what scripts/run_tests counts is true."""
import json
import os
import re
import subprocess
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
ROWS = 80


def rows():
    """(row, test, case) of each line."""
    with open(os.path.join(HERE, "matrix.txt")) as lines:
        return [tuple(part.strip() for part in line.split("|")) for line in lines
                if line.strip() and not line.startswith("#")]


def suites():
    """The Python file of each registered test that has one."""
    shown = subprocess.run(["ctest", "--test-dir", os.environ["STALLPROF_BUILD"], "--show-only=json-v1"],
                           stdout=subprocess.PIPE, check=True)
    found = {}
    for test in json.loads(shown.stdout.decode())["tests"]:
        found[test["name"]] = [w for w in test.get("command", []) if w.endswith("_test.py")]
    return found


def python_cases(path):
    with open(path) as text:
        cases, group = set(), ""
        for line in text:
            named = re.match(r"class (\w+)|    def (test_\w+)", line)
            if named and named[1]:
                group = named[1]
            elif named:
                cases.add("%s.%s" % (group, named[2]))
    return cases


def unit_cases(folder):
    cases, where = set(), os.path.join(TESTS, "unit", folder)
    for name in os.listdir(where) if os.path.isdir(where) else ():
        with open(os.path.join(where, name)) as text:
            cases.update(re.sub(r'"\s*"', "", c) for c in
                         re.findall(r'TEST_CASE\(\s*"((?:[^"\\]|\\.|"\s+")*)"\s*[,)]', text.read()))
    return cases


class Matrix(unittest.TestCase):
    def test_every_row_is_there(self):
        named = [row for row, *_ in rows()]
        self.assertEqual(sorted({int(row) for row in named}), list(range(1, ROWS + 1)))
        without = [row for row, test, _ in rows() if test in ("open", "needs")]
        tested = {row for row, test, _ in rows() if test != "soak"}
        self.assertEqual([row for row, test, _ in rows() if test == "soak" and row not in tested], [])
        self.assertEqual([row for row in without if named.count(row) > 1], [])

    def test_every_test_named_is_there(self):
        registered = suites()
        with open(os.path.join(os.path.dirname(TESTS), "scripts", "soak")) as text:
            soak = text.read()
        for row, test, case in rows():
            if test in ("open", "needs"):
                continue
            if test == "soak":
                self.assertIn(re.sub(r"^yama[123]$", "yama{scope}", case) + '": Part(', soak)
                continue
            with self.subTest(row=row, case=case):
                if test.startswith("unit_"):
                    self.assertIn(case, unit_cases(test[len("unit_"):]))
                else:
                    self.assertEqual(len(registered.get(test, [])), 1, test)
                    self.assertIn(case, python_cases(registered[test][0]))

    def test_a_test_of_one_row_is_counted_for_it(self):
        """`test_row_NN_...` in this folder is in the table, under that row."""
        listed = {(int(row), case.split(".")[-1]) for row, _, case in rows()}
        for name in os.listdir(HERE):
            if name.endswith("_test.py"):
                for case in python_cases(os.path.join(HERE, name)):
                    of = re.search(r"\.test_row_(\d+)_", case)
                    if of:
                        self.assertIn((int(of[1]), case.split(".")[-1]), listed)


if __name__ == "__main__":
    unittest.main(verbosity=2)
