# SPDX-License-Identifier: MIT
"""`verify` on a real training: the measured gain beside the predicted one, and no file of the user's touched."""
import json
import os
import shutil
import subprocess
import time
import unittest

from trials import PYTHON, STALLPROF, Training, files_below, needs_view

# An evaluation of 60 batches, then a training, whose loader's workers wait for a lock for ever.
LATE = """
import os, threading, time, torch
from torch.utils.data import DataLoader, Dataset
print("OMP_NUM_THREADS", os.environ.get("OMP_NUM_THREADS"), flush=True)
class Slow(Dataset):
    def __len__(self): return 4000
    def __getitem__(self, i):
        time.sleep(0.004)
        if torch.utils.data.get_worker_info(): lock.acquire()
        return torch.ones(4)
lock = threading.Lock()
lock.acquire()
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
model.eval()
with torch.no_grad():
    for i, batch in enumerate(DataLoader(Slow(), batch_size=8)):
        model(batch)
        if i == 60: break
model.train()
for i, batch in enumerate(DataLoader(Slow(), batch_size=8)):
    model(batch).mean().backward()
    optimizer.step()
    if i == 190: break
"""


class Verify(Training):
    @needs_view
    def test_a_gain_is_measured_and_the_users_files_stay_as_they_were(self):
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
            shutil.rmtree(trials, ignore_errors=True)   # what is there is of this instant

    def test_what_cannot_be_tried_is_refused_with_its_reason(self):
        self.record("--replay")
        self.assertIn("recording of --replay", self.stallprof("verify", self.recording, status=2).stderr)
        self.assertIn("whole number", self.stallprof("verify", "--runs", "2", self.recording, status=2).stderr)
        self.assertIn("no such", self.stallprof("verify", "no.stallprof", status=1).stderr.lower())

    def test_trials_are_of_the_training_end_it_wherever_it_runs_and_end_a_fix_that_hangs(self):
        """An evaluation comes first, a shell starts the program, and workers never give a batch."""
        with open(os.path.join(self.work, "late.py"), "w") as file:
            file.write(LATE)
        seen = dict(os.environ, OMP_NUM_THREADS="1")
        subprocess.run([STALLPROF, "run", "--report", "none", "-o", self.recording, "--steps", "60",
                        "--count-from", "optimizer-step", "--", "sh", "-c", PYTHON + " late.py " + self.dir + "; exit 0"],
                       cwd=self.work, env=seen, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.assertEqual(self.processes(), [])
        fix = self.report()["findings"][0]["advice"][0]
        self.assertEqual(fix["change"]["name"], "num_workers")
        self.stallprof("verify", "--steps", "20", "--fix", fix["id"], "--in-place", self.recording)
        self.assertEqual(self.processes(), [])
        with open(os.path.join(self.recording, "trials", "base-1.log")) as log:
            self.assertIn("OMP_NUM_THREADS 1", log.read())
        base = self.stallprof("report", "--format", "json", os.path.join(self.recording, "trials", "base-1.stallprof"))
        self.assertGreaterEqual(json.loads(base.stdout)["steps"]["optimizer_steps"], 20)
        self.assertRegex(" ".join(self.stallprof("report", self.recording).stdout.split()),
                         "tried and failed: fix1-1 had not trained after .* and was ended")

    def test_nothing_is_tried_beside_the_recorded_run(self):
        with open(os.path.join(self.work, "late.py"), "w") as file:
            file.write(LATE)
        live = subprocess.Popen([STALLPROF, "run", "--report", "none", "-o", self.recording, "--", PYTHON, "late.py"],
                                cwd=self.work, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            live.stdout.readline()   # the program runs
            self.assertIn("still runs", self.stallprof("verify", self.recording, status=2).stderr)
        finally:
            live.terminate()
            live.communicate()


if __name__ == "__main__":
    unittest.main(verbosity=2)
