#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Code that a program makes at run time has the names that its maker wrote for profilers, in a
recording that needs their files no more."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

STALLPROF = os.environ["STALLPROF"]
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "jit_program.py")
CPU_SECONDS = "1.5"
# A mount and pid namespace with a /tmp of its own, as in a container.
CONTAINED = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c",
             'mount -t tmpfs none /tmp && exec "$@"', "sh"]


class Jit(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="stallprof-jit-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def functions(self, *command):
        """Library and name of what more than half of the CPU samples are in."""
        recording = os.path.join(self.dir, "r.stallprof")
        done = subprocess.run([STALLPROF, "run", "--report", "none", "-o", recording, "--", *command],
                              cwd=self.dir, timeout=120, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(subprocess.run([STALLPROF, "report", "--format", "json", recording], check=True,
                                           timeout=120, stdout=subprocess.PIPE).stdout)
        states = {s["name"]: s for s in report["coverage"]["sources"]}
        if states["native_samples"]["state"] == "absent":
            self.skipTest("native samples are refused here: " + states["native_samples"]["why"])
        return [(f["library"], f["function"], f["class"]) for f in report["native"]["functions"]
                if f["ratio"] > 0.5]

    def test_names_of_a_perf_map(self):
        self.assertEqual(self.functions(sys.executable, PROGRAM, "map", CPU_SECONDS),
                         [("[jit]", "jit_made_by_map", "jit")])

    def test_names_of_a_jitdump(self):
        self.assertEqual(self.functions(sys.executable, PROGRAM, "dump", CPU_SECONDS),
                         [("[jit]", "jit_made_by_dump", "jit")])

    def test_without_names_it_is_one_library(self):
        library, name, kind = self.functions(sys.executable, PROGRAM, "none", CPU_SECONDS)[0]
        self.assertEqual((library, kind), ("anon", "jit"))
        self.assertFalse(name)

    def test_names_of_a_perf_map_in_namespaces_of_its_own(self):
        probe = subprocess.run([*CONTAINED, "true"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if probe.returncode != 0:
            self.skipTest("no namespaces here: " + probe.stdout.decode(errors="replace").strip())
        with open(PROGRAM) as program:
            text = program.read()
        self.assertEqual(self.functions(*CONTAINED, sys.executable, "-c", text, "map", CPU_SECONDS),
                         [("[jit]", "jit_made_by_map", "jit")])


if __name__ == "__main__":
    unittest.main()
