# SPDX-License-Identifier: MIT
"""Reports of made-up runs: a real one's fields with other numbers, and the verb run on them."""
import copy
import json
import os
import subprocess
import tempfile
import unittest

STALLPROF = os.environ["STALLPROF"]
with open(os.path.join(os.environ["GOLDEN"], "healthy", "report.json"), encoding="utf-8") as file:
    HEALTHY = json.load(file)


def call(*words, cwd=None, env=None):
    full = {k: v for k, v in os.environ.items()
            if k not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE")}
    return subprocess.run([STALLPROF, *words], cwd=cwd, env={**full, **(env or {})},
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=120)


def put(report, path, value):
    *parents, leaf = path.split(".")
    for parent in parents:
        report = report[parent]
    report[leaf] = value


class Folder(unittest.TestCase):
    """A directory of reports: self.side("base", 100) is eight files of runs of 100 ms a step."""

    runs = 0

    def setUp(self):
        self.held = tempfile.TemporaryDirectory()
        self.addCleanup(self.held.cleanup)
        self.dir = self.held.name

    def write(self, name, text):
        path = os.path.join(self.dir, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return name

    def read(self, name):
        with open(os.path.join(self.dir, name), encoding="utf-8") as file:
            return file.read()

    def report(self, name, milliseconds, **changes):
        report = copy.deepcopy(HEALTHY)
        put(report, "steps.time_ns.p50", int(milliseconds * 1e6))
        put(report, "steps.rate_per_s", 1000 / milliseconds)
        Folder.runs += 1
        put(report, "run.wall_ns", HEALTHY["run"]["wall_ns"] + Folder.runs)   # another run
        for path, value in changes.items():
            put(report, path.replace("__", "."), value)
        return self.write(name, json.dumps(report))

    def side(self, name, milliseconds, noise=0.01, runs=8, **changes):
        return [self.report(f"{name}-{i}.json", milliseconds * (1 + (noise if i % 2 else -noise)),
                            **changes) for i in range(runs)]

    def gate(self, base, head, *options, status):
        got = call("gate", *options, *base, "--", *head, cwd=self.dir)
        self.assertEqual(got.returncode, status, got.stdout.decode() + got.stderr.decode())
        return got.stdout.decode()

    def refused(self, status, pattern, *words):
        got = call("gate", *words, cwd=self.dir)
        self.assertEqual(got.returncode, status, got)
        self.assertEqual(got.stdout, b"")
        text = got.stderr.decode()
        self.assertEqual(text.count("\n"), 1, text)
        self.assertRegex(text, pattern)
        return text
