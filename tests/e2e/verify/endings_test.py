# SPDX-License-Identifier: MIT
"""How the runs of `verify` end. No gain is judged: this may run beside other tests."""
import json
import os
import shutil
import subprocess
import unittest

from trials import PYTHON, STALLPROF, LateTraining


class Endings(LateTraining):
    def test_trials_are_of_the_training_end_it_wherever_it_runs_and_end_a_fix_that_hangs(self):
        """An evaluation comes first, a shell starts the program, and workers never give a batch."""
        seen = dict(os.environ, OMP_NUM_THREADS="1")

        def record():
            subprocess.run([STALLPROF, "run", "--report", "none", "-o", self.recording, "--steps", "60",
                            "--count-from", "optimizer-step", "--", "sh", "-c", PYTHON + " late.py " + self.dir + "; exit 0"],
                           cwd=self.work, env=seen, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.assertEqual(self.processes(), [])
        fix = self.fix_by_workers(record)
        self.stallprof("verify", "--steps", "20", "--fix", fix, "--in-place", self.recording)
        self.assertEqual(self.processes(), [])
        with open(os.path.join(self.recording, "trials", "base-1.log")) as log:
            self.assertIn("OMP_NUM_THREADS 1", log.read())
        base = self.stallprof("report", "--format", "json", os.path.join(self.recording, "trials", "base-1.stallprof"))
        self.assertGreaterEqual(json.loads(base.stdout)["steps"]["optimizer_steps"], 20)
        self.assertRegex(" ".join(self.stallprof("report", self.recording).stdout.split()),
                         "tried and failed: fix1-1 had not ended after .* and was ended")

    def test_a_fix_that_stands_still_after_some_steps_has_failed(self):
        fix = self.fix_by_workers(lambda: self.stallprof(
            "run", "--report", "none", "-o", self.recording, "--map", "mine*=step", "--steps", "60", "--count-from",
            "optimizer-step", "--", PYTHON, "late.py", "later"))
        self.stallprof("verify", "--for", "4", "--fix", fix, "--in-place", self.recording)
        with open(os.path.join(self.recording, "trials", "base-1.stallprof", "manifest.json")) as manifest:
            self.assertEqual(json.load(manifest)["map"], ["mine*=step"])
        self.assertRegex(" ".join(self.stallprof("report", self.recording).stdout.split()),
                         "tried and failed: fix1-1 made no step in the last")

    def test_a_fix_that_makes_the_program_end_within_its_seconds_has_not_failed(self):
        fix = self.fix_by_workers(lambda: self.stallprof(
            "run", "--report", "none", "-o", self.recording, "--steps", "50", "--count-from", "optimizer-step", "--",
            PYTHON, "late.py", "ends"))
        done = subprocess.run([STALLPROF, "verify", "--for", "4", "--max-runs", "4", "--fix", fix, "--in-place", self.recording],
                              cwd=self.work, stdout=subprocess.PIPE, timeout=400, check=False)
        self.assertIn(done.returncode, (0, 4))
        self.assertNotIn(b"failed", done.stdout)

    def test_a_fix_whose_workers_die_after_some_steps_has_failed_and_a_link_is_not_emptied(self):
        fix = self.fix_by_workers(lambda: self.stallprof(   # it ends with 1 after the TERM of its steps
            "run", "--report", "none", "-o", self.recording, "--steps", "60", "--count-from", "optimizer-step", "--", PYTHON,
            "late.py", "later", "dies", "handles", status=1))
        # Its end begins after 2 s of steps: a host that gives the trial 2 % of a CPU needs seconds for it.
        verify = ("verify", "--for", "10", "--fix", fix, "--in-place", "--force", self.recording)
        self.stallprof(*verify)
        self.assertRegex(" ".join(self.stallprof("report", self.recording).stdout.split()),
                         "tried and failed: fix1-1 ended with 1: .*worker")
        trials, kept = os.path.join(self.recording, "trials"), os.path.join(self.shared, "kept")
        shutil.rmtree(trials)
        os.symlink(self.shared, trials)
        open(kept, "w").close()
        self.assertIn("symbolic link", self.stallprof(*verify, status=3).stderr)
        self.assertTrue(os.path.exists(kept))
        os.remove(trials)
        os.mkdir(trials)
        os.symlink(self.shared, os.path.join(trials, ".replaced"))
        self.assertIn("symbolic link", self.stallprof(*verify, status=3).stderr)
        self.assertTrue(os.path.exists(kept))

    def test_a_training_behind_a_pipe_saves_at_its_one_term_before_what_reads_it_ends(self):
        self.stallprof("run", "--report", "none", "-o", self.recording, "--steps", "20", "--", "sh", "-c",
                       PYTHON + " late.py save " + self.dir + " 2>&1 | tee log; exit 0")
        self.assertEqual(self.processes(), [])
        with open(os.path.join(self.work, "saved")) as saved, open(os.path.join(self.work, "log")) as log:
            self.assertEqual((saved.read(), log.read().splitlines()[-1]), ("1", "saving"))

    def test_a_trial_that_ignores_the_end_of_its_steps_is_killed(self):
        """As in a view, where the seconds are 60."""
        subprocess.run([STALLPROF, "run", "--report", "none", "-o", self.recording, "--for", "1", "--", PYTHON, "train.py",
                        self.shared, "stubborn"], cwd=self.work, env=dict(os.environ, STALLPROF_SUPERVISED="2"), timeout=120,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.assertEqual(self.processes(), [])
        self.assertGreater(self.report()["steps"]["count"], 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
