# SPDX-License-Identifier: MIT
"""What the launcher's tests share: the programs, a scratch directory, and the reader."""
import itertools
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from programs import NOBODY, NOBODY_ELSE, PATIENCE, ordinary, until  # noqa: F401 (the suites take it from here)

STALLPROF = os.environ["STALLPROF"]
DUMP = os.environ["STALLPROF_DUMP"]
PROBES = os.environ["STALLPROF_PROBES"]

needs_mount = unittest.skipUnless(os.geteuid() == 0 and shutil.which("mount"), "needs root to mount")
needs_unshare = unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "needs root to unshare")


def probe(name):
    return os.path.join(PROBES, "launch_" + name)


def content(path):
    """The file's text; empty before it exists."""
    try:
        with open(path) as text:
            return text.read()
    except OSError:
        return ""


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="stallprof-launch-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.numbers = itertools.count(1)  # shared by a test's threads

    def path(self, name):
        return os.path.join(self.dir, name)

    def words(self, *command, options=()):
        """The words of a recorded run, and its recording."""
        recording = self.path("r%d.stallprof" % next(self.numbers))
        return [STALLPROF, "run", "--report", "none", "-o", recording, *options, "--",
                *command], recording

    def run_words(self, words, **how):
        how.setdefault("stdout", subprocess.PIPE)
        how.setdefault("stderr", subprocess.PIPE)
        how.setdefault("cwd", self.dir)
        return subprocess.run(words, timeout=PATIENCE, **how)

    def run_as_process_1(self, *command):
        """A recorded run in a pid namespace of its own, and its recording; skips the test where that cannot be had."""
        words, recording = self.words(*command)
        done = self.run_words(["unshare", "-p", "-f", "--mount-proc"] + words)
        if b"unshare:" in done.stderr:
            self.skipTest("needs root to unshare")
        return done, recording

    def mount_memory(self, name, options):
        """A directory that is a file system of its own; skips the test where that cannot be had."""
        place = self.path(name)
        os.mkdir(place)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", place]).returncode:
            self.skipTest("needs root to mount")
        self.addCleanup(subprocess.run, ["umount", "-l", place])
        return place

    def dump(self, recording):
        """The recording as text; fails where it cannot be read."""
        done = subprocess.run([DUMP, recording], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode(errors="replace")

    def events(self, recording, name):
        return [line for line in self.dump(recording).splitlines()
                if re.match(r"\S+ %s\b" % name, line)]


def main():
    unittest.main(verbosity=2)
