# SPDX-License-Identifier: MIT
"""A training in a directory of its own, for tests of the commands that run it again."""
import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest

from programs import run

STALLPROF = os.environ["STALLPROF"]
HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = os.environ.get("STALLPROF_TORCH_PYTHON", "/usr/bin/python3")


def files_below(*places):
    """Every path below, with its content and times."""
    found = {}
    for place in places:
        for folder, _, names in os.walk(place):
            for name in names:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    found[path] = file.read(), os.stat(path).st_mtime_ns, os.stat(path).st_mode
            found[folder] = os.stat(folder).st_mode
    return found


def works(*words):
    return subprocess.run(words, stderr=subprocess.DEVNULL).returncode == 0


needs_view = unittest.skipUnless(works("unshare", "-Um" if os.geteuid() else "-m", "true"),
                                 "no mount namespace can be had")


@unittest.skipUnless(works(PYTHON, "-c", "import torch"), "no torch for " + PYTHON)
class Training(unittest.TestCase):
    def setUp(self):
        self.dir = os.path.realpath(tempfile.mkdtemp(prefix="stallprof-verify-"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.work, self.shared = os.path.join(self.dir, "work"), os.path.join(self.dir, "shared")
        os.mkdir(self.work)
        os.mkdir(self.shared)
        shutil.copy(os.path.join(HERE, "train.py"), self.work)
        for name in "old.txt", "log.txt":
            with open(os.path.join(self.work, name), "w") as file:
                file.write("the user's\n")
        self.recording = os.path.join(self.dir, "r.stallprof")

    def stallprof(self, *words, status=0, **how):
        return run([STALLPROF, *words], status, cwd=self.work, **how)

    def record(self, *options):
        """Somewhere else: the training writes where it runs."""
        self.addCleanup(self.written_to_shm)
        self.stallprof("run", "--report", "none", "-o", self.recording, *options, "--steps", "60", "--",
                       PYTHON, "train.py", self.shared)
        for name in "old.txt", "log.txt":
            with open(os.path.join(self.work, name), "w") as file:
                file.write("the user's\n")

    def report(self):
        return json.loads(self.stallprof("report", "--format", "json", self.recording).stdout)

    def written_to_shm(self):
        """What a training wrote to /dev/shm, outside of a view; removed. Other tests write there, too, at the same
        time."""
        names = sorted(name for name in os.listdir("/dev/shm") if name.startswith("stallprof-verify"))
        for name in names:
            os.remove(os.path.join("/dev/shm", name))
        return names

    def processes(self):
        """Those that were started for the test's directory, or have a view of it."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/cmdline" % pid, "rb") as words, open("/proc/%s/mountinfo" % pid) as mounts:
                    ours = self.dir.encode() in words.read() or self.dir in mounts.read()
            except OSError:
                continue
            if ours and int(pid) != os.getpid():
                found.append(int(pid))
        return found

    def wait_for(self, holds, what, seconds=30):
        until = time.monotonic() + seconds
        while not holds():
            self.assertLess(time.monotonic(), until, "%s; processes: %s" % (what, self.processes()))
            time.sleep(0.02)


class LateTraining(Training):
    """late.py, in whose workers a fix by workers never gets a batch, or only some."""
    def setUp(self):
        super().setUp()
        shutil.copy(os.path.join(HERE, "late.py"), self.work)

    def fix_by_workers(self, record):
        """Wherever it ranks. What a report of two seconds offers depends on what else the host does: recorded
        again where it offers no worker."""
        for _ in range(4):
            record()
            findings = self.report()["findings"]
            fixes = [fix["id"] for found in findings for fix in found["advice"] if fix["change"]["name"] == "num_workers"]
            if fixes:
                return fixes[0]
            text = self.stallprof("report", self.recording).stdout
            shutil.rmtree(self.recording)
        self.fail("no fix by workers in any of four reports; the last: " + text)
