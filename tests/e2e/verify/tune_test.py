# SPDX-License-Identifier: MIT
"""`tune` on a real training: the setting that it ends with, what it measured, and no file touched."""
import re
import unittest

from trials import PYTHON, Training, files_below, needs_view


class Tune(Training):
    @needs_view
    def test_it_ends_with_the_setting_and_the_line_to_change(self):
        self.record()
        before = files_below(self.work, self.shared)
        said = self.stallprof("tune", "--settings", "2", "--steps", "30", "--max-runs", "4", self.recording)
        self.assertEqual(files_below(self.work, self.shared), before)
        tune = self.report()["tune"]
        first, second = tune["settings"]
        self.assertEqual((first["num_workers"], first["prefetch_factor"], tune["best"], tune["outcome"]),
                         (0, None, 1, "gain"))
        # A sample sleeps 16 ms a batch beside 12 ms of training: one worker or two.
        self.assertIn(second["num_workers"], (1, 2))
        self.assertGreater(second["steps_per_s"], first["steps_per_s"])
        self.assertGreater(tune["measured"], 1.2)
        self.assertLess(tune["measured"], 2.5)
        self.assertIsNotNone(tune["more_rss_bytes"])
        self.assertEqual(tune["where"]["file"][-8:], "train.py")
        change = "DataLoader(..., num_workers=0 -> %d, persistent_workers=True)" % second["num_workers"]
        self.assertEqual(tune["change"], change)
        self.assertIn("train.py:%d  %s" % (tune["where"]["line"], change), said.stdout)
        self.assertRegex(said.stdout, r"Measured [\d.]+x \([\d.]+x - [\d.]+x\) as fast, [+-][\d.]+ [kMG]?B")
        self.assertEqual(len(re.findall(r"^ +[0-9]+ .*#", said.stdout, re.M)), 2)
        # The advice of the same change has it, too.
        advice = [a for f in self.report()["findings"] for a in f["advice"]
                  if a["change"]["name"] == "num_workers" and a["change"]["to"] == str(second["num_workers"])]
        self.assertTrue(all(a["measured"] == tune["measured"] for a in advice))
        self.assertIn(change, self.stallprof("report", "--format", "html", "-o", "-", self.recording).stdout
                      .replace("&gt;", ">"))
        self.assertIn("has a result of tune", self.stallprof("tune", self.recording, status=2).stderr)

    def test_what_cannot_be_tuned_is_refused_with_its_reason(self):
        self.stallprof("run", "--report", "none", "-o", self.recording, "--", PYTHON, "-c", "pass")
        self.assertIn("no PyTorch DataLoader", self.stallprof("tune", self.recording, status=2).stderr)
        self.assertIn("whole number", self.stallprof("tune", "--settings", "1", self.recording, status=2).stderr)
        self.assertIn("no such", self.stallprof("tune", "no.stallprof", status=1).stderr.lower())


if __name__ == "__main__":
    unittest.main(verbosity=2)
