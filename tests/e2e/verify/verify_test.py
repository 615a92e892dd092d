# SPDX-License-Identifier: MIT
"""`verify` on a real training: the measured gain beside the predicted one, and no file of the user's touched."""
import os
import shutil
import socket
import subprocess
import time
import unittest

from trials import PYTHON, STALLPROF, Training, files_below, needs_view


class Verify(Training):
    @needs_view
    def test_a_gain_is_measured_and_the_users_files_stay_as_they_were(self):
        service = socket.socket(socket.AF_UNIX)
        self.addCleanup(service.close)
        service.bind(os.path.join(self.dir, "service"))
        service.listen(100)
        self.record()
        before = files_below(self.work, self.shared)
        predicted = self.report()["findings"][0]["advice"][0]
        self.assertEqual(predicted["verify_command"],
                         "stallprof verify --fix %s %s" % (predicted["id"], self.recording))
        self.assertIsNone(predicted["measured"])
        said = self.stallprof("verify", "--trials", "1", "--steps", "40", "--most", "4", self.recording)
        self.assertEqual(files_below(self.work, self.shared), before)
        self.assertEqual(self.written_to_shm(), ["stallprof-verify-0.pt"])    # of the recorded run alone
        self.assertRegex(said.stdout, r"predicted .*\n  measured  [\d.]+x \([\d.]+x - [\d.]+x\), 4 and 4 runs")
        report = self.report()
        finding = report["findings"][0]
        advice = finding["advice"][0]
        self.assertEqual((finding["confidence"], advice["outcome"], advice["change"]["name"]),
                         ("verified", "gain", "num_workers"))
        self.assertEqual(advice["predicted"], predicted["predicted"])
        # A sample sleeps 16 ms a batch beside 12 ms of training.
        self.assertGreater(advice["measured"], 1.3)
        self.assertLess(advice["measured"], 2.5)
        measured = {c["stage"]: c for c in report["ceilings"] if c["basis"] == "measured"}
        self.assertIn("compute", measured)
        self.assertGreater(report["verdict"]["stall_ratio"], 0.3)
        text = self.stallprof("report", self.recording).stdout
        self.assertRegex(" ".join(text.split()), r"\[(not )?predicted[^\]]*, measured %.2fx \(" % advice["measured"])
        self.assertIn("has trials", self.stallprof("verify", self.recording, status=3).stderr)
        again = self.stallprof("verify", "--fix", advice["id"], self.recording, status=3)
        self.assertIn("that fix was tried", again.stderr)

    def wait_for(self, holds, what, seconds=30):
        until = time.monotonic() + seconds
        while not holds():
            self.assertLess(time.monotonic(), until, "%s; processes: %s" % (what, self.processes()))
            time.sleep(0.02)

    def killed(self, at, *more):
        """verify killed at an instant, with the files and processes that it leaves."""
        words = [STALLPROF, "verify", "--force", "--trials", "1", self.recording, "--",
                 PYTHON, "train.py", self.shared, *more]
        verify = subprocess.Popen(words, cwd=self.work, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.wait_for(at, "verify does not come so far")
        finally:
            verify.kill()
            verify.wait()
        self.wait_for(lambda: not self.processes(), "left behind")

    @needs_view
    def test_killed_at_any_instant_it_leaves_no_process_no_mount_and_the_files_as_they_were(self):
        self.record()
        trials = os.path.join(self.recording, "trials")
        before, shm = files_below(self.work, self.shared), os.listdir("/dev/shm")

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
            self.assertEqual(sorted(os.listdir("/dev/shm")), sorted(shm))
            left = self.stallprof("verify", self.recording, "--", "false", status=3)   # over what was left
            self.assertIn("base-1 gave no steps and ended with 1", left.stderr)
            shutil.rmtree(trials, ignore_errors=True)   # what is there is of this instant

    def test_what_cannot_be_tried_is_refused_with_its_reason(self):
        self.record("--replay")
        self.assertIn("recording of --replay", self.stallprof("verify", self.recording, status=2).stderr)
        self.assertIn("whole number", self.stallprof("verify", "--runs", "2", self.recording, status=2).stderr)
        self.assertIn("no such", self.stallprof("verify", "no.stallprof", status=1).stderr.lower())


if __name__ == "__main__":
    unittest.main(verbosity=2)
