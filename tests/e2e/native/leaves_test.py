#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program that spins in two named functions, three parts of its time in one, one in the other:
the report names both, and what is not permitted is said and costs nothing else."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

STALLPROF = os.environ["STALLPROF"]
DUMP = os.environ["STALLPROF_DUMP"]
SPIN = os.environ["SPIN"]
DENY = os.environ["DENY"]
CPU_SECONDS = "1.5"  # 150 samples: the larger share is known to 4 points (one sigma)


class Leaves(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="stallprof-native-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def record(self, *options, before=(), program=SPIN):
        recording = os.path.join(self.dir, "r.stallprof")
        done = subprocess.run([*before, STALLPROF, "run", "--report", "none", "-o", recording,
                               *options, "--", program, CPU_SECONDS], cwd=self.dir, timeout=120,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return recording

    def report(self, recording, form="json"):
        return subprocess.run([STALLPROF, "report", "--format", form, recording], check=True,
                              timeout=120, stdout=subprocess.PIPE).stdout.decode()

    def source(self, report):
        states = {s["name"]: s for s in report["coverage"]["sources"]}
        return states.get("native_samples", {"state": "absent", "why": "not reported"})

    def test_the_functions_it_spins_in_are_named_in_their_ratio(self):
        recording = self.record()
        report = json.loads(self.report(recording))
        source = self.source(report)
        if source["state"] == "absent":
            self.skipTest("native samples are refused here: " + source["why"])
        native = report["native"]
        self.assertGreater(native["samples"], 30)
        shares = {f["function"]: f["ratio"] for f in native["functions"]
                  if f["library"] == os.path.basename(SPIN)}
        three, one = shares.get("spin_three", 0), shares.get("spin_one", 0)
        # All but the start is in the two, three to one; a fifth is left to chance and host.
        self.assertGreater(three + one, 0.7, native)
        self.assertGreater(three / (three + one), 0.55, native)
        self.assertLess(three / (three + one), 0.95, native)
        text = self.report(recording, "text")
        self.assertIn("NATIVE CODE", text)
        self.assertIn("spin_three", text)
        self.assertRegex(self.report(recording, "md"), "native_spin:spin_three")

    def test_the_report_is_the_same_where_the_program_is_gone(self):
        spin = shutil.copy(SPIN, self.dir)
        recording = self.record(program=spin)
        before = self.report(recording)
        if self.source(json.loads(before))["state"] == "absent":
            self.skipTest("native samples are refused here")
        self.assertIn("spin_three", before)
        os.rename(spin, spin + ".away")
        with open(spin, "wb") as another:
            another.write(b"another build")
        self.assertEqual(before, self.report(recording))

    def test_samples_sum_to_its_cpu_time(self):
        recording = self.record()
        if self.source(json.loads(self.report(recording)))["state"] == "absent":
            self.skipTest("native samples are refused here")
        text = subprocess.run([DUMP, recording], check=True, timeout=120,
                              stdout=subprocess.PIPE).stdout.decode()
        samples = sum(int(n) for n in re.findall(r" native .*samples=(\d+)", text))
        # 99 a second of CPU. A host that is late loses some; none come from nowhere.
        self.assertGreater(samples, 0.4 * 99 * float(CPU_SECONDS))
        self.assertLess(samples, 1.6 * 99 * float(CPU_SECONDS))

    def test_switched_off_or_refused_nothing_else_changes(self):
        for options, before, why in [(["--no-native"], (), "--no-native"),
                                     ([], (DENY, "perf_event_open", "--"), "perf_event_open")]:
            with self.subTest(why):
                recording = self.record(*options, before=before)
                report = json.loads(self.report(recording))
                self.assertNotIn("native", report)
                self.assertEqual(self.source(report)["state"], "absent")
                self.assertIn(why, self.source(report)["why"])
                self.assertTrue(any("native_samples" in line for line in report["not_measured"]))
                shutil.rmtree(recording)


if __name__ == "__main__":
    unittest.main()
