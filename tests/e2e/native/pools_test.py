#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""OpenMP teams: what waits on a CPU is distinguished from what works, and what a team's threads work is
counted under the Python function that had it done."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

STALLPROF = os.environ["STALLPROF"]
TEAM = os.environ["TEAM"]
LIBRARY = os.environ["TEAM_LIBRARY"]
SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "team.py")
CPU_SECONDS = "3"  # 300 samples: a share of a third is known to 2.7 points (one sigma)


class Pools(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="stallprof-pools-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def report(self, *command, **environment):
        recording = os.path.join(self.dir, "r.stallprof")
        done = subprocess.run([STALLPROF, "run", "--report", "none", "-o", recording, "--", *command],
                              cwd=self.dir, timeout=150, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=dict(os.environ, **environment))
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(subprocess.run([STALLPROF, "report", "--format", "json", recording], check=True,
                                           timeout=120, stdout=subprocess.PIPE).stdout)
        shutil.rmtree(recording)
        for source in report["coverage"]["sources"]:
            if source["name"] in ("native_samples", "python_stacks") and source["state"] == "absent":
                if "no Python program was seen" not in source["why"]:
                    self.skipTest(source["name"] + ": " + source["why"])
        return report, done.stdout.decode()

    def test_who_waits_actively_spins_by_as_much_as_the_clocks_say(self):
        report, spun = self.report(TEAM, CPU_SECONDS, "3", "1", OMP_WAIT_POLICY="active")
        # Both by CPU time: that another program has the CPUs meanwhile changes neither.
        self.assertAlmostEqual(report["native"]["spin_ratio"], 1 - float(spun), delta=0.1, msg=report["native"])

    def test_who_waits_asleep_does_not_spin(self):
        report, _ = self.report(TEAM, CPU_SECONDS, "3", "1", OMP_WAIT_POLICY="passive")
        self.assertLess(report["native"]["spin_ratio"], 0.05, report["native"])
        shares = {f["function"]: f["ratio"] for f in report["native"]["functions"]}
        self.assertGreater(shares.get("team_work", 0), 0.8, report["native"])

    def test_what_a_team_works_is_of_the_function_that_had_it_done(self):
        report, _ = self.report(sys.executable, SCRIPT, LIBRARY, CPU_SECONDS, OMP_WAIT_POLICY="passive")
        native = report["native"]
        work = [f for f in native["functions"] if f["function"] == "team_work"]
        self.assertTrue(work, native)
        self.assertEqual(work[0]["below"]["function"], "forward")
        # Half of the samples are of the second thread; samples without a stack leave some out.
        self.assertGreater(native["pool_ratio"], 0.1, native)
        self.assertLess(native["pool_ratio"], 0.7, native)


if __name__ == "__main__":
    unittest.main()
