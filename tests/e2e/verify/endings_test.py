# SPDX-License-Identifier: MIT
"""How the runs of `verify` begin and end. No gain is judged: this may run beside other tests."""
import fcntl
import json
import os
import shutil
import signal
import subprocess
import time
import unittest

from trials import PYTHON, STALLPROF, Training, files_below, needs_view

# An evaluation of 60 batches, then a training, whose loader's workers wait for a lock for ever: at once, or
# with the argument `later` after 50 batches.
LATE = """
import os, signal, sys, threading, time, torch
from torch.utils.data import DataLoader, Dataset
print("OMP_NUM_THREADS", os.environ.get("OMP_NUM_THREADS"), flush=True)
class Slow(Dataset):
    def __len__(self): return 4000
    def __getitem__(self, i):
        time.sleep(0.004)
        if torch.utils.data.get_worker_info() and "dies" in sys.argv and i >= 400: os._exit(3)
        if torch.utils.data.get_worker_info() and i >= (400 if "later" in sys.argv else 4000 if "ends" in sys.argv else 0): lock.acquire()
        return torch.ones(4)
runs = int(open("runs").read()) if os.path.exists("runs") else 0
open("runs", "w").write(str(runs + 1))
if str(runs + 1) in os.environ.get("FAILS", "").split(): sys.exit("ConnectionError: no answer")
terms = []
def save(number, frame):
    terms.append(number)
    time.sleep(1)
    print("saving", flush=True)
    open("saved", "w").write(str(len(terms)))
    sys.exit(0)
if "save" in sys.argv: signal.signal(signal.SIGTERM, save)
if "handles" in sys.argv: signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
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
    if i == (120 if "ends" in sys.argv else 190): break
until = time.monotonic() + (1.6 if "ends" in sys.argv else 0)
while time.monotonic() < until: model(torch.ones(64, 4)).sum().item()
"""


class Endings(Training):
    def setUp(self):
        super().setUp()
        with open(os.path.join(self.work, "late.py"), "w") as file:
            file.write(LATE)

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

    def test_a_fix_whose_workers_die_after_some_steps_has_failed_and_a_link_is_not_emptied(self):
        fix = self.fix_by_workers(lambda: self.stallprof(   # it ends with 1 after the TERM of its steps
            "run", "--report", "none", "-o", self.recording, "--steps", "60", "--count-from", "optimizer-step", "--", PYTHON,
            "late.py", "later", "dies", "handles", status=1))
        verify = ("verify", "--for", "4", "--fix", fix, "--in-place", "--force", self.recording)
        self.stallprof(*verify)
        self.assertRegex(" ".join(self.stallprof("report", self.recording).stdout.split()),
                         "tried and failed: fix1-1 ended with 1: .*worker")
        trials, kept = os.path.join(self.recording, "trials"), os.path.join(self.shared, "kept")
        shutil.rmtree(trials)
        os.symlink(self.shared, trials)
        open(kept, "w").close()
        self.assertIn("symbolic link", self.stallprof(*verify, status=3).stderr)
        self.assertTrue(os.path.exists(kept))

    def test_a_training_behind_a_pipe_saves_at_its_one_term_before_what_reads_it_ends(self):
        self.stallprof("run", "--report", "none", "-o", self.recording, "--steps", "20", "--", "sh", "-c",
                       PYTHON + " late.py save " + self.dir + " 2>&1 | tee log; exit 0")
        self.assertEqual(self.processes(), [])
        with open(os.path.join(self.work, "saved")) as saved, open(os.path.join(self.work, "log")) as log:
            self.assertEqual((saved.read(), log.read().splitlines()[-1]), ("1", "saving"))

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

    def test_a_trial_that_ignores_the_end_of_its_steps_is_killed(self):
        """As in a view, where the seconds are 60."""
        subprocess.run([STALLPROF, "run", "--report", "none", "-o", self.recording, "--for", "1", "--", PYTHON, "train.py",
                        self.shared, "stubborn"], cwd=self.work, env=dict(os.environ, STALLPROF_SUPERVISED="2"), timeout=120,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.assertEqual(self.processes(), [])
        self.assertGreater(self.report()["steps"]["count"], 0)

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


if __name__ == "__main__":
    unittest.main(verbosity=2)
