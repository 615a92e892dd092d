#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A running job, seen from outside: top in lines, once, and on a terminal; progress in a log.
The job is a loop over a fake tf.data whose get-next takes 20 ms."""
import fcntl
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import unittest

import programs
from programs import PATIENCE

STALLPROF, FAKE = os.environ["STALLPROF"], os.environ["FAKE"]
LOOP = """
import sys, time
from tensorflow.python.data.ops.iterator_ops import RangeDataset
sys.stdout.write("ready\\n"); sys.stdout.flush()
end = time.time() + float(sys.argv[1])
while time.time() < end:
    for batch in RangeDataset(10, 0.02):
        sum(range(20000))
"""


@unittest.skipUnless(os.environ["HOOK"] == "1", "the hook is not built")
class Live(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="stallprof-live-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.env = dict(os.environ, PYTHONPATH=FAKE, STALLPROF_CONFIG="none")
        self.recording = os.path.join(self.dir, "r.stallprof")

    def start(self, length, *options):
        """A recorded loop that has begun; ends with the test at the latest."""
        job = subprocess.Popen(
            [STALLPROF, "run", "--report", "none", "-o", self.recording, *options, "--",
             sys.executable, "-c", LOOP, str(length)], env=self.env, cwd=self.dir,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True)
        self.addCleanup(self.stop, job)
        self.assertEqual(job.stdout.readline(), b"ready\n")
        return job

    @staticmethod
    def stop(job):
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGTERM)
        job.communicate(timeout=PATIENCE)

    def top(self, *words):
        return subprocess.run([STALLPROF, "top", *words], env=self.env, cwd=self.dir,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, universal_newlines=True, timeout=PATIENCE)

    def until(self, condition):
        return programs.until(condition, "the job", PATIENCE, 0.1)

    def test_one_view_of_a_running_job_by_name_and_by_process(self):
        job = self.start(120)
        parts = ("stallprof top", "running", "LAST", "steps/s", "batches so far", "transform",
                 "TOP STALL", "COST        recorder", "recorded")

        def shown():  # a busy host may be late with any of it
            said = self.top("--once", self.recording).stdout
            return said if all(part in said for part in parts) else ""
        said = self.until(shown)
        self.assertNotIn("\x1b", said)
        with open("/proc/%d/task/%d/children" % (job.pid, job.pid), encoding="ascii") as text:
            inside = text.read().split()  # the recorder and the command
        for pid in [str(job.pid), *inside]:
            done = self.top("--once", pid)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(self.recording, done.stdout)
        self.assertIsNone(job.poll())

    def test_lines_until_the_command_ends(self):
        job = self.start(3)
        done = self.top("--interval", "0.5", self.recording)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        self.assertIn("ended", lines[-1])
        self.assertRegex(lines[-1], r"steps/s \| .*recorder")
        self.assertEqual(job.wait(PATIENCE), 0)

    def test_a_recording_whose_recorder_was_killed_comes_to_an_end(self):
        self.start(120)
        self.until(lambda: "batches so far" in self.top("--once", self.recording).stdout)
        with open(os.path.join(self.recording, "manifest.json"), encoding="utf-8") as text:
            recorder = int(re.search(r'"recorder_pid": *(\d+)', text.read()).group(1))
        os.kill(recorder, signal.SIGKILL)
        done = self.top(self.recording)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no new data for", done.stdout.splitlines()[-1])

    def test_a_terminal_is_given_back_as_it_was(self):
        self.start(120)
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        before = termios.tcgetattr(slave)
        top = subprocess.Popen([STALLPROF, "top", "--interval", "0.2", self.recording],
                               stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                               preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
                               env=dict(self.env, TERM="xterm"), cwd=self.dir)
        shown = b""
        while b"TOP STALL" not in shown:
            shown += os.read(master, 65536)
        self.assertNotEqual(termios.tcgetattr(slave), before)
        os.write(master, b"q")
        self.assertEqual(top.wait(PATIENCE), 0)
        self.assertEqual(termios.tcgetattr(slave), before)
        os.close(slave)
        try:
            while True:
                shown += os.read(master, 65536)
        except OSError:  # EIO: the other end is closed
            pass
        self.assertTrue(shown.startswith(b"\x1b[?1049h"), shown[:40])
        self.assertTrue(shown.rstrip().endswith(b"\x1b[?1049l"), shown[-40:])
        for row in re.sub(rb"\x1b\[[?\d]*\w", b"", shown).split(b"\r\n"):
            self.assertLessEqual(len(row.rstrip(b"\r")), 80)

    def test_progress_in_a_log(self):
        job = self.start(3, "--progress", "1")
        said = job.communicate(timeout=PATIENCE)[1].decode()
        self.assertRegex(said, r"stallprof: \d+ batches, [\d.]+ a second, p50 [\d.]+ ms, \d+ % of "
                               r"the time waiting for data, recorder <?[\d.]+ % of a core\n")

    def test_no_progress_where_it_is_off_or_stderr_is_a_terminal(self):
        job = self.start(2.5, "--progress", "off")
        self.assertEqual(job.communicate(timeout=PATIENCE)[1].count(b"\n"), 2)


class Nothing(unittest.TestCase):
    def test_what_is_not_recorded_cannot_be_shown(self):
        with tempfile.TemporaryDirectory() as empty:
            for words, status in ((["no-such.stallprof"], 1), ([str(os.getpid())], 1),
                                  ([empty, "--once"], 1), (["--interval", "x"], 2)):
                done = subprocess.run([STALLPROF, "top", *words], stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, timeout=PATIENCE)
                self.assertEqual((done.returncode, done.stdout), (status, b""), words)
                self.assertEqual(done.stderr.count(b"\n"), 1, words)


if __name__ == "__main__":
    unittest.main()
