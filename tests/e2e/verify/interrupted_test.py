# SPDX-License-Identifier: MIT
"""What `verify` leaves, prints and refuses where runs fail, or it is interrupted or killed. No gain is judged: this
may run beside other tests."""
import fcntl
import os
import shutil
import signal
import subprocess
import time
import unittest

from trials import PYTHON, STALLPROF, LateTraining, files_below, needs_view


class Interrupted(LateTraining):
    def verify_with_failing_runs(self, fix, fails):
        """Runs 1 to 7 are base-1, fix1-1, replay, drain, fix1-2, base-2 and base-3, where none is repeated."""
        if self.runs():
            os.remove(os.path.join(self.work, "runs"))
        return subprocess.Popen([STALLPROF, "verify", "--steps", "20", "--fix", fix, "--in-place", self.recording],
                                cwd=self.work, env=dict(os.environ, FAILS=fails), stdout=subprocess.PIPE,
                                universal_newlines=True, start_new_session=True)

    def runs(self):
        try:
            with open(os.path.join(self.work, "runs")) as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def test_what_is_known_is_printed_where_the_unchanged_program_fails_or_the_runs_are_interrupted(self):
        fix = self.fix_by_workers(lambda: self.stallprof(
            "run", "--report", "none", "-o", self.recording, "--steps", "50", "--count-from", "optimizer-step", "--",
            PYTHON, "late.py", "ends"))
        failing = self.verify_with_failing_runs(fix, "6 8 9")   # base-2, which is repeated, and both of base-3
        said = failing.communicate(timeout=400)[0]
        self.assertEqual(failing.returncode, 4, said)
        self.assertRegex(said, r"measured  not decided: [\d.]+x, 2 and [23] runs; base-3-again .*ConnectionError")
        self.assertIn("base-2 made no steps and ended with 1: ConnectionError: no answer. That run was repeated.", said)
        self.assertIn("not decided", self.stallprof("report", self.recording).stdout)
        interrupted = self.verify_with_failing_runs(fix, "")    # what is undecided may be replaced
        self.wait_for(lambda: self.runs() == "6", "no sixth run", 200)
        interrupted.send_signal(signal.SIGINT)   # as timeout(1): the command, then its group
        time.sleep(0.05)
        os.killpg(interrupted.pid, signal.SIGINT)
        said = interrupted.communicate(timeout=200)[0]
        self.assertEqual(interrupted.returncode, -signal.SIGINT, said)
        self.assertRegex(said, r"measured  not decided: [\d.]+x, 1 and 2 runs; base-2 was interrupted")
        self.assertEqual(self.processes(), [])

    def test_what_was_measured_is_printed_where_it_cannot_be_kept(self):
        fix = self.fix_by_workers(lambda: self.stallprof(
            "run", "--report", "none", "-o", self.recording, "--steps", "50", "--count-from", "optimizer-step", "--",
            PYTHON, "late.py", "ends"))
        verify = self.verify_with_failing_runs(fix, "2")   # the first with the fix, which decides
        self.wait_for(lambda: self.runs() == "1", "no first run", 60)
        os.mkdir(os.path.join(self.recording, "trials", "outcome.json"))
        said = verify.communicate(timeout=200)[0]
        self.assertEqual(verify.returncode, 1, said)
        self.assertRegex(said, "measured  failed: fix1-1 made no steps and ended with 1: ConnectionError")
        self.assertNotIn("To show the results", said)

    def test_nothing_is_tried_beside_the_recorded_run(self):
        live = subprocess.Popen([STALLPROF, "run", "--report", "none", "-o", self.recording, "--", PYTHON, "late.py"],
                                cwd=self.work, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            live.stdout.readline()   # the program runs
            self.assertIn("still runs", self.stallprof("verify", self.recording, status=2).stderr)
        finally:
            live.terminate()
            live.communicate()
        recording = os.open(self.recording, os.O_RDONLY)
        self.addCleanup(os.close, recording)
        fcntl.flock(recording, fcntl.LOCK_EX)   # as another call of verify has it
        self.assertIn("another verify or tune", self.stallprof("verify", self.recording, status=2).stderr)

    def killed(self, at, *more):
        """verify killed at an instant, with the files and processes that it leaves."""
        words = [STALLPROF, "verify", "--force", "--trials", "1", self.recording, "--",
                 PYTHON, "train.py", self.shared, *more]
        verify = subprocess.Popen(words, cwd=self.work, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.wait_for(at, "verify does not come so far", 60)
        finally:
            verify.kill()
            verify.wait()
        self.wait_for(lambda: not self.processes(), "left behind")

    @needs_view
    def test_killed_at_any_instant_it_leaves_no_process_no_mount_and_the_files_as_they_were(self):
        self.record()
        self.written_to_shm()   # by the recorded run: what is there later is a trial's
        trials = os.path.join(self.recording, "trials")
        before = files_below(self.work, self.shared)

        def size(name):
            try:
                return os.path.getsize(os.path.join(trials, name))
            except OSError:
                return -1

        def starts():
            return size("base-1.log") >= 0

        def trains():
            return size("base-1.stallprof/events-000001.seg") > 40000

        instants = [(starts,), (trains,), (trains, "stubborn")]
        for at, *more in instants:
            self.killed(at, *more)
            self.assertEqual(files_below(self.work, self.shared), before)
            self.assertEqual(self.written_to_shm(), [])
            left = self.stallprof("verify", self.recording, "--", "false", status=3)   # over what was left
            self.assertIn("base-1 made no steps and ended with 1", left.stderr)
            shutil.rmtree(trials, ignore_errors=True)   # what is there is of this instant

    def test_trials_on_other_cores_than_the_recorded_runs_are_refused(self):
        self.record()
        cpu = str(min(os.sched_getaffinity(0)))
        done = subprocess.run(["taskset", "-c", cpu, STALLPROF, "verify", "--for", "2", "--in-place", self.recording],
                              cwd=self.work, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=300)
        self.assertIn(b"on another host (there were ", done.stderr)
        self.assertEqual(done.returncode, 3)

    def test_what_cannot_be_tried_is_refused_with_its_reason(self):
        self.record("--replay")
        self.assertIn("recording of --replay", self.stallprof("verify", self.recording, status=2).stderr)
        self.assertIn("whole number", self.stallprof("verify", "--runs", "2", self.recording, status=2).stderr)
        self.assertIn("no such", self.stallprof("verify", "no.stallprof", status=1).stderr.lower())

    def test_settings_of_several_loaders_are_not_narrowed_to_that_of_a_fix(self):
        with open(os.path.join(self.work, "two.py"), "w") as program:
            program.write("import torch\nfrom torch.utils.data import DataLoader\n"
                          "one = DataLoader(range(40))\nother = DataLoader(range(40))\n"
                          "weight = torch.ones(1, requires_grad=True)\nsgd = torch.optim.SGD([weight], 0.1)\n"
                          "for pair in zip(one, other):\n    weight.sum().backward()\n    sgd.step()\n")
        self.stallprof("run", "--report", "none", "-o", self.recording, "--set", "num_workers=1", "--", PYTHON, "two.py")
        refused = self.stallprof("verify", self.recording, status=2).stderr
        self.assertIn("a recording of --set, and the program has several loaders", refused)


if __name__ == "__main__":
    unittest.main(verbosity=2)
