# SPDX-License-Identifier: MIT
"""`verify` on a real training: the measured gain beside the predicted one, and no file of the user's touched."""
import os
import socket
import unittest

from programs import run
from trials import PYTHON, STALLPROF, Training, files_below, needs_view


class Verify(Training):
    @needs_view
    def test_a_gain_is_measured_and_the_users_files_stay_as_they_were(self):
        service = socket.socket(socket.AF_UNIX)
        self.addCleanup(service.close)
        service.bind(os.path.join(self.dir, "service"))
        service.listen(100)
        self.record()
        self.assertEqual(self.written_to_shm(), ["stallprof-verify-0.pt"])
        before = files_below(self.work, self.shared)
        predicted = self.report()["findings"][0]["advice"][0]
        self.assertEqual(predicted["verify_command"],
                         "stallprof verify --fix %s %s" % (predicted["id"], self.recording))
        self.assertIsNone(predicted["measured"])
        lines = os.open(os.path.join(self.work, "old.txt"), os.O_WRONLY | os.O_APPEND)
        self.addCleanup(os.close, lines)
        said = self.stallprof("verify", "--trials", "1", "--steps", "40", "--max-runs", "4", self.recording,
                              pass_fds=[lines], env=dict(os.environ, LINES_TO=str(lines)))
        self.assertEqual(files_below(self.work, self.shared), before)
        self.assertEqual(self.written_to_shm(), [])
        self.assertRegex(said.stdout, r"predicted.*\n  measured  [\d.]+x \([\d.]+x - [\d.]+x\), 4 and 4 runs")
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
        other_pace = "The unchanged program made" in said.stdout   # of a host that was busy at one of the times
        self.assertEqual("compute" in measured, not other_pace)
        if not other_pace:
            self.assertGreater(report["verdict"]["stall_ratio"], 0.3)
        text = self.stallprof("report", self.recording).stdout
        self.assertRegex(" ".join(text.split()), r"\[(not )?predicted[^\]]*, measured %.2fx \(" % advice["measured"])
        self.assertIn("has trials", self.stallprof("verify", self.recording, status=3).stderr)
        again = self.stallprof("verify", "--fix", advice["id"], self.recording, status=3)
        self.assertIn("that fix was tried", again.stderr)
        self.assertEqual(self.report()["findings"][0]["advice"][0]["verify_command"],
                         "stallprof verify --force --fix %s %s" % (advice["id"], self.recording))
        # What is known stays where nothing replaces it: the command no longer runs, or no file can be written.
        trials = os.path.join(self.recording, "trials")
        kept = files_below(trials)
        broken = self.stallprof("verify", "--force", self.recording, "--", PYTHON, "-c", "raise SystemExit(5)", status=3)
        self.assertIn("base-1 made no steps and ended with 5", broken.stderr)
        self.assertEqual(files_below(trials), kept)
        read_only = run(["unshare", "-m", "sh", "-c", 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && '
                         'exec "$0" verify --force "$1"', STALLPROF, self.recording], 1, cwd=self.work)
        self.assertIn("Read-only file system", read_only.stderr)
        self.assertEqual(files_below(trials), kept)


if __name__ == "__main__":
    unittest.main(verbosity=2)
