#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""attach: a program that runs already is recorded from outside, and does not notice. Every test
waits for what it asks of the recording, as long as it takes."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import programs
from programs import NOBODY, PATIENCE, ordinary

STALLPROF, DUMP = os.environ["STALLPROF"], os.environ["DUMP"]
# With "burned" it has used two seconds of CPU before the recording begins. Then one thread works (with
# "busy"), one rests, a child sleeps. Ends when its stdin does, with 7.
TARGET = """
import subprocess, sys, threading, time
def burn(end):
    while time.process_time() < end:
        sum(range(1000))
def rest(gate):
    gate.acquire()
child = subprocess.Popen(["sleep", "600"])
gate = threading.Lock()
gate.acquire()
threading.Thread(target=rest, args=(gate,), daemon=True).start()
if "burned" in sys.argv:
    burn(2)
if "busy" in sys.argv:
    threading.Thread(target=burn, args=(1e9,), daemon=True).start()
print(child.pid, flush=True)
sys.stdin.read()
child.kill()
child.wait()
sys.exit(7)
"""


def number(path, absent):
    try:
        with open(path, encoding="ascii") as text:
            return int(text.read())
    except OSError:
        return absent


# Whether a process may read the memory of one that it did not start.
CLOSED = number("/proc/sys/kernel/yama/ptrace_scope", 0) > 0


class Attach(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="stallprof-attach-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        os.chmod(self.dir, 0o777)
        self.recording = os.path.join(self.dir, "r.stallprof")
        self.env = dict(os.environ, STALLPROF_CONFIG="none")

    def popen(self, words, stderr=subprocess.PIPE, extra=(), **how):
        job = subprocess.Popen(words, cwd=self.dir, env=dict(self.env, **dict(extra)), universal_newlines=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr,
                               start_new_session=True, **how)
        self.addCleanup(self.stop, job)
        return job

    @staticmethod
    def stop(job):
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)  # and what it started
        job.communicate(timeout=PATIENCE)

    def target(self, *words, under=(), python=sys.executable, **how):
        """A program that runs, and the pid of its child."""
        job = self.popen([*under, python, "-c", TARGET, *words], **how)
        return job, int(job.stdout.readline())

    def attach(self, pid, *options, **how):
        """One that records by now. What it says on stderr is in a file, for said()."""
        with open(os.path.join(self.dir, "said"), "w", encoding="utf-8") as file:
            job = self.popen([STALLPROF, "attach", "-p", str(pid), "-o", self.recording, *options],
                             stderr=file, **how)
        self.until(lambda: self.said() or job.poll() is not None)
        self.assertTrue(self.said().startswith("stallprof: attached to process %d, " % pid),
                        self.said())
        return job

    def said(self):
        with open(os.path.join(self.dir, "said"), encoding="utf-8") as file:
            return file.read()

    def dump(self):
        done = subprocess.run([DUMP, self.recording], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, timeout=PATIENCE, check=False)
        return done.stdout.decode(errors="replace")

    def events(self, name=""):
        lines = self.dump().splitlines()
        return [line for line in lines if re.match(r"\S+ %s" % (name + " " if name else ""), line)]

    def until(self, condition):
        return programs.until(condition, lambda: "an event; there are: " + "\n".join(self.events()), PATIENCE, 0.2)

    def sources(self):
        return {re.search(r'source="([^"]*)"', line).group(1): line
                for line in self.events("source")}

    def report(self):
        done = subprocess.run([STALLPROF, "report", "--format", "json", self.recording],
                              env=self.env, stdout=subprocess.PIPE, check=True, timeout=PATIENCE)
        return json.loads(done.stdout)

    def leave(self, job, signal_number=signal.SIGINT):
        job.send_signal(signal_number)
        job.communicate(timeout=PATIENCE)
        self.assertEqual(job.returncode, 0, self.said())
        return self.said()

    def recorder(self):
        with open(os.path.join(self.recording, "manifest.json"), encoding="utf-8") as text:
            return json.load(text)["recorder_pid"]

    def test_a_program_is_recorded_until_it_ends_and_the_report_says_how(self):
        job, child = self.target("busy")
        watch = self.attach(job.pid)
        self.until(lambda: any('"burn"' in line for line in self.events("stack")))
        self.until(lambda: len(self.events("usage")) > 4)
        processes = self.events("process")
        parent = next(line for line in processes if " pid=%d " % job.pid in line)
        self.assertTrue(any(" pid=%d " % child in line and "parent=" in line and '"sleep"' in line
                            for line in processes), processes)
        own = re.search(r" process=\d+ ", parent).group(0)
        self.assertGreaterEqual(sum(own in line for line in self.events("thread")), 3)
        with open("/proc/%d/status" % job.pid, encoding="ascii") as status:
            self.assertIn("TracerPid:\t0\n", status.read())
        _, err = job.communicate("", timeout=PATIENCE)
        self.assertEqual((job.returncode, err), (7, ""))
        out, _ = watch.communicate(timeout=PATIENCE)
        said = self.said()
        self.assertEqual((watch.returncode, out), (0, ""), said)
        self.assertIn("stallprof: the process ended after", said)
        self.assertIn("attached to a process that ran already", said)  # the text report
        report = self.report()
        self.assertEqual(report["run"]["exit"], {"code": None, "signal": None})
        self.assertEqual(report["run"]["command"][1:], ["-c", TARGET, "busy"])
        self.assertIsNone(report["steps"]["source"])
        hook = next(s for s in report["coverage"]["sources"] if s["name"] == "hook")
        self.assertEqual(hook["state"], "absent")

    def test_native_samples_are_of_every_thread_there_is(self):
        job, _ = self.target("busy")
        watch = self.attach(job.pid, "--report", "none")
        if "state=" not in self.until(lambda: self.sources().get("native_samples")):
            self.skipTest("no perf events here")
        seen = self.until(lambda: [re.search(r"thread=(\d+)", line).group(1)
                                   for line in self.events("native")])
        # The one that works is not the main thread.
        main = next(line for line in self.events("thread") if " tid=%d" % job.pid in line)
        self.assertTrue(any(" thread=%s " % one not in main for one in seen), (seen, main))
        self.leave(watch)

    def test_leaving_does_not_touch_it(self):
        job, _ = self.target()
        for number_, options in ((signal.SIGINT, []), (signal.SIGTERM, []), (None, ["--for", "1"])):
            with self.subTest(number_):
                watch = self.attach(job.pid, "--report", "none", *options)
                if number_ is not None:
                    said = self.leave(watch, number_)
                else:
                    watch.communicate(timeout=PATIENCE)
                    said = self.said()
                self.assertRegex(said, r"stallprof: left after \d+\.\d s\n$")
                self.assertTrue(self.events("command_end"))
                shutil.rmtree(self.recording)
        self.assertIsNone(job.poll())
        job.communicate("", timeout=PATIENCE)
        self.assertEqual(job.returncode, 7)

    def test_top_finds_the_recording_of_what_was_attached_to(self):
        job, child = self.target("busy", extra={"STALLPROF_RECORDING": os.path.join(self.dir, "ended.stallprof")})
        watch = self.attach(job.pid, "--report", "none")
        self.until(lambda: len(self.events("process")) > 1)
        for pid in (job.pid, child):
            done = subprocess.run([STALLPROF, "top", "--once", str(pid)], env=self.env, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, universal_newlines=True, timeout=PATIENCE, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.leave(watch)

    def test_one_that_is_killed_leaves_no_recorder(self):
        job, _ = self.target()
        self.attach(job.pid).kill()
        self.until(lambda: "clean_end" in self.dump())
        self.assertIsNone(job.poll())

    def test_a_recorder_that_is_slow_or_died_is_said_to_be(self):
        job, _ = self.target()
        watch = self.attach(job.pid, "--report", "none")
        recorder = self.recorder()
        os.kill(recorder, signal.SIGSTOP)
        try:
            self.assertRegex(self.leave(watch), r"; the recording '[^']*' is still written\n$")
        finally:
            os.kill(recorder, signal.SIGCONT)
        self.until(lambda: "clean_end" in self.dump())
        shutil.rmtree(self.recording)
        watch = self.attach(job.pid, "--report", "none")
        os.kill(self.recorder(), signal.SIGKILL)
        watch.communicate(timeout=PATIENCE)
        self.assertEqual(watch.returncode, 1)
        self.assertRegex(self.said(), r"left after \d+\.\d s; warning: the recorder died before it")
        self.assertIsNone(job.poll())

    def test_a_signal_that_the_caller_ignores_ends_nothing(self):
        job, _ = self.target()
        watch = self.attach(job.pid, "--report", "none",
                            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        watch.send_signal(signal.SIGHUP)
        self.until(lambda: len(self.events("usage")) > 2)
        self.assertIsNone(watch.poll())
        self.assertRegex(self.leave(watch), r"stallprof: left after \d+\.\d s\n$")
        job.communicate("", timeout=PATIENCE)

    def test_what_it_did_before_is_not_counted(self):
        job, _ = self.target("burned")
        watch = self.attach(job.pid, "--report", "none")
        self.until(lambda: len(self.events("usage")) > 4)
        self.leave(watch)
        report = self.report()
        wall = report["run"]["wall_ns"] / 1e9
        used = report["resources"]["cpu_ratio"] * report["run"]["host"]["cores_usable"] * wall
        self.assertLess(used, 1)  # it had burned two seconds

    def test_what_cannot_be_recorded_is_said_in_a_line(self):
        job, child = self.target()
        ended = subprocess.Popen(["true"])
        ended.wait()
        threads = [int(name) for name in os.listdir("/proc/%d/task" % job.pid)]
        thread = max(threads)
        self.assertNotEqual(thread, job.pid)
        os.mkdir(self.recording)
        for words, status, why in (
                ([], 2, "pid"), (["-p", "x"], 2, "number of a process"), (["-p", "0"], 2, "number"),
                (["-p", str(child), "--for", "soon"], 2, "whole seconds"),
                (["-p", str(child), "--gpu"], 2, "gpu"),
                (["-p", str(ended.pid)], 1, "there is no process"),
                (["-p", str(thread)], 1, "a thread of process %d" % job.pid),
                (["-p", str(child), "-o", self.recording], 1, "never overwrites"),
                (["-p", str(child), "-o", "no/such/r.stallprof"], 1, "cannot write")):
            with self.subTest(words):
                done = subprocess.run([STALLPROF, "attach", *words], env=self.env, cwd=self.dir,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      universal_newlines=True, timeout=PATIENCE, check=False)
                self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
                self.assertRegex(done.stderr, r"^stallprof: [^\n]*" + why + r"[^\n]*\n$")

    def test_what_is_recorded_already(self):
        run = os.path.join(self.dir, "run.stallprof")
        self.target(under=[STALLPROF, "run", "--report", "none", "-o", run, "--"])
        with open(os.path.join(run, "manifest.json"), encoding="utf-8") as text:
            front = json.load(text)["front_pid"]
        recorder_and_command = subprocess.run(
            ["cat", "/proc/%d/task/%d/children" % (front, front)], stdout=subprocess.PIPE,
            check=True, universal_newlines=True).stdout.split()
        command = next(pid for pid in recorder_and_command
                       if "stallprof-rec" not in open("/proc/%s/comm" % pid, encoding="ascii").read())
        done = subprocess.run([STALLPROF, "attach", "-p", command], env=self.env, cwd=self.dir,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("is recorded already", done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become another user")
    def test_an_ordinary_user_sees_his_own(self):
        python = "/usr/bin/python3"  # who runs this test may have one of his own
        drop = ordinary(self, NOBODY, STALLPROF, python)
        job, _ = self.target("busy", python=python, preexec_fn=drop)
        watch = self.attach(job.pid, preexec_fn=drop)
        self.until(lambda: self.events("slice"))
        memory = self.until(lambda: self.sources().get("stack_memory"))
        if CLOSED:
            self.assertNotIn("state=", memory)
        else:
            self.until(lambda: any('"burn"' in line for line in self.events("stack")))
        said = self.leave(watch)
        if CLOSED:
            self.assertRegex(said, "more would be seen: (root or CAP_SYS_PTRACE|a host booted with)")

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become another user")
    def test_what_an_ordinary_user_lacks_of_anothers_is_said(self):
        drop = ordinary(self, NOBODY, STALLPROF)
        job, _ = self.target("busy")
        watch = self.attach(job.pid, preexec_fn=drop)
        self.until(lambda: self.events("slice"))  # run and wait times are everybody's to read
        self.assertNotIn("state=", self.until(lambda: self.sources().get("stack_memory")))
        said = self.leave(watch)
        self.assertIn("more would be seen: run stallprof as the job's own user", said)
        self.assertIn("refused", said)  # the report's list of what was not measured
        self.assertIsNone(job.poll())


if __name__ == "__main__":
    unittest.main()
