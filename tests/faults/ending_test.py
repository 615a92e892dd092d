# SPDX-License-Identifier: MIT
"""Rows of the fault matrix: nothing of ours outlives the command without end."""
import os
import shutil
import signal
import subprocess
import time
import unittest

from faults import PATIENCE, STALLPROF, Case, content, main, needs_unshare, until

SCRIPT = "echo out; sleep 0.5; exit 3"


def quietly(*words):
    return subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode


class Ending(Case):
    def start(self, recording, report):
        # To files: a report that hangs in the kernel keeps a pipe open, though we are gone.
        with open(self.path("out"), "wb") as out, open(self.path("err"), "wb") as err:
            run = subprocess.Popen([STALLPROF, "run", "-o", recording, "--report", report, "--", "sh", "-c",
                                    SCRIPT], stdout=out, stderr=err, cwd=self.dir)
        self.addCleanup(lambda: run.poll() is None and run.kill())
        self.until_said("recording to")
        return run

    def until_said(self, words):
        until(lambda: words in content(self.path("err")), words)

    def check_end(self, run):
        """The command's output and status, and how to make the report later."""
        try:
            run.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.fail("the front outlives the command")
        said = content(self.path("err"))
        self.assertEqual((run.returncode, content(self.path("out"))), (3, "out\n"), said)
        self.assertIn("for the report: stallprof report", said)

    def test_row_68_a_fifo_that_nobody_reads_as_report(self):
        fifo = self.path("fifo")
        os.mkfifo(fifo)
        self.check_end(self.start(self.path("r.stallprof"), "json=" + fifo))

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("fsfreeze") and shutil.which("mkfs.ext4"),
                         "needs root, a loop device and fsfreeze")
    def test_row_35_a_disk_that_hangs_before_the_report_and_sigterm(self):
        image, place = self.path("image"), self.path("disk")
        os.mkdir(place)
        with open(image, "wb") as blank:
            blank.truncate(8 << 20)
        if quietly("mkfs.ext4", "-q", image) or quietly("mount", "-o", "loop", image, place):
            self.skipTest("needs root, a loop device and fsfreeze")
        self.addCleanup(quietly, "umount", "-l", place)
        run = self.start(os.path.join(place, "r.stallprof"), "json=" + os.path.join(place, "out.json"))
        self.addCleanup(quietly, "fsfreeze", "-u", place)
        self.assertEqual(quietly("fsfreeze", "-f", place), 0)
        self.until_said("the command ended with 3")
        time.sleep(0.5)  # the report is about to be written
        run.send_signal(signal.SIGTERM)
        self.check_end(run)

    @needs_unshare
    def test_row_66_as_process_1_of_a_container_no_orphan_stays_a_zombie(self):
        """Five that lose their parents and end: with a shell as process 1 none is left either."""
        script = ("for i in 1 2 3 4 5; do sh -c 'sleep 0.1 & exit'; done; sleep 0.6; "
                  "grep -lE '^[0-9]+ .*\\) Z ' /proc/[0-9]*/stat 2>/dev/null | wc -l")
        done, _ = self.run_as_process_1("sh", "-c", script)
        self.assertEqual((done.returncode, done.stdout.strip()), (0, b"0"), done.stderr)


if __name__ == "__main__":
    main()
