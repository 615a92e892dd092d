# SPDX-License-Identifier: MIT
"""Rows of the fault matrix: system calls of ours that fail. The command's output and status are its own."""
import itertools
import json
import os
import shutil
import subprocess
import unittest

from faults import RECORDING, STALLPROF, Case, content, main, probe, until

# What only we call: the command is a static program of two calls. Each fails with an error that it may have.
CALLS = {"clone": "EAGAIN", "clone3": "EAGAIN", "socketpair": "EMFILE", "signalfd4": "EMFILE",
         "memfd_create": "ENFILE", "pipe2": "EMFILE", "openat": "EMFILE", "mmap": "ENOMEM", "mkdir": "EIO",
         "pwrite64": "EIO", "ftruncate": "EIO", "fdatasync": "EIO", "fallocate": "EIO", "fcntl": "EINVAL",
         "perf_event_open": "EMFILE", "prctl": "EPERM", "setrlimit": "EPERM", "chdir": "EACCES"}
# Of those that only read a recording, and write what they say of it.
READERS_CALLS = {"openat": "EMFILE", "mmap": "ENOMEM", "pread64": "EIO", "read": "EIO", "write": "ENOSPC",
                 "newfstatat": "EIO", "getdents64": "EIO", "fsync": "EIO", "rename": "EIO", "lseek": "EIO",
                 "fcntl": "EINVAL"}
# Allocations of the program's start and of its command line.
READ_BY = 1500
# The loader's own calls come first: without its libraries a program of ours is none.
LOADER = {"openat": 8, "mmap": 40}


class Calls(Case):
    def check(self, done, case):
        self.assertEqual((done.returncode, done.stdout), (7, b"out\n"), (case, done.stderr))

    def test_row_69_a_filter_that_does_not_know_our_calls(self):
        for call in ("signalfd4", "memfd_create", "socketpair", "clone3", "pidfd_open", "perf_event_open"):
            with self.subTest(call):
                words, recording = self.words(probe("quiet"))
                done = self.run_words([probe("deny"), "--unknown", call, "--"] + words)
                self.check(done, call)
                if b"unrecorded" in done.stderr:
                    self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
                else:
                    self.assertTrue(self.events(recording, "command_end"))

    def failing(self, call, error, nth, ever, words):
        """What the words do while the nth call of a kind fails, or all from it on; whether there was one to fail."""
        log = self.path("trace")
        done = subprocess.run(
            ["strace", "-f", "-o", log, "-e", "trace=" + call, "-e", "signal=none", "-e",
             "inject=%s:error=%s:when=%d%s" % (call, error, nth, ever)] + words,
            cwd=self.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        if b"strace:" in done.stderr:
            self.skipTest("needs strace that may trace")
        return done, "INJECTED" in content(log)

    def sweep(self, calls, words, check):
        """Each call of each kind fails, in a run of its own, until there is none left to fail; how many did."""
        hit = 0
        for (call, error), ever in itertools.product(calls.items(), ("", "+")):
            for nth in itertools.count(1 + LOADER.get(call, 0)):
                done, failed = self.failing(call, error, nth, ever, words)
                check(done, (call, nth, ever))
                if not failed:
                    break
                hit += 1
        return hit

    @unittest.skipUnless(shutil.which("strace"), "needs strace")
    def test_row_70_the_nth_call_of_a_kind_fails_once_or_for_ever(self):
        words = [STALLPROF, "run", "--report", "none", "--", probe("quiet")]
        hit = self.sweep(CALLS, words, self.check)
        self.assertGreater(hit, len(CALLS))
        print("figures: %d calls of run failed" % hit)

    @unittest.skipUnless(shutil.which("strace"), "needs strace")
    def test_row_70_a_report_or_gate_whose_nth_call_fails_says_all_or_why_not(self):
        """Never a part of what a recording holds, as if that were all."""
        html, base = self.path("r.html"), self.path("base.json")
        report = json.loads(subprocess.check_output([STALLPROF, "report", "--format", "json", RECORDING]))
        report["run"]["wall_ns"] += 1   # another run: a gate compares none with itself
        with open(base, "w", encoding="utf-8") as file:
            json.dump(report, file)
        for words in (["report", RECORDING], ["report", "--format", "html", "-o", html, RECORDING],
                      ["gate", "--format", "json", base, "--", RECORDING]):
            words = [STALLPROF] + words

            def result(done):
                page = content(html)
                if page:
                    os.unlink(html)
                return done.stdout, page
            whole = result(subprocess.run(words, cwd=self.dir, stdout=subprocess.PIPE, check=True))

            def check(done, case):
                made = result(done)
                if b"error while loading shared libraries" in done.stderr:
                    return  # no program of ours began
                if done.returncode == 0:
                    if b"are not shown" not in made[0] and "are not shown" not in made[1]:  # of what lies beside it
                        self.assertEqual(made, whole, case)
                    self.assertEqual(done.stderr, b"", case)
                    return
                self.assertIn(done.returncode, (1, 2), (case, done.stderr))
                if case[0] != "write":  # standard error may have been refused, too
                    self.assertRegex(done.stderr, rb"\Astallprof: .*: .*\n\Z", case)
                    self.assertEqual(made, (b"", ""), case)
            hit = self.sweep(READERS_CALLS, words, check)
            self.assertGreater(hit, len(READERS_CALLS))
            print("figures: %d calls of %s failed" % (hit, words[1]))

    def test_row_41_the_nth_allocation_fails_once_or_for_ever(self):
        """Of front and recorder, which count on from the fork each on its own. The command allocates nothing."""
        log, failed = self.path("failed"), 0
        for ever in (False, True):
            for nth in sorted({int(1.45 ** i) for i in range(6, 28)}):
                words, _ = self.words(probe("quiet"))
                env = dict(os.environ, LD_PRELOAD=os.environ["STALLPROF_ALLOC"], STALLPROF_FAIL_AT=str(nth),
                           STALLPROF_FAIL_LOG=log)
                if ever:
                    env["STALLPROF_FAIL_EVER"] = "1"
                done = self.run_words(words, env=env)
                if done.returncode == 7 or b"out" in done.stdout:
                    self.check(done, (nth, ever))
                else:  # before the command line was read: not a word of it is known
                    self.assertLess(nth, READ_BY, (nth, ever, done.stderr))
                failed += os.path.exists(log)
                if os.path.exists(log):
                    os.unlink(log)
        self.assertGreater(failed, 20)  # of 44 tries: how many allocations there are is up to the recorder

    def test_row_77_a_recorder_that_dies_leaves_no_core(self):
        words, _ = self.words("sleep", "60")
        front = subprocess.Popen(words, stderr=subprocess.PIPE)
        self.addCleanup(front.wait)
        self.addCleanup(front.terminate)
        self.addCleanup(front.stderr.close)
        self.assertIn(b"recording to", front.stderr.readline())
        pids = content("/proc/%d/task/%d/children" % (front.pid, front.pid)).split()
        recorder, command = until(lambda: len(pids) == 2 and pids, "both")
        core = [line.split()[4:6] for line in content("/proc/%s/limits" % recorder).splitlines()
                if line.startswith("Max core")]
        self.assertEqual(core, [["1", "1"]])  # also where the kernel gives cores to a program
        self.assertEqual([line for line in content("/proc/%s/limits" % command).splitlines() if "core" in line],
                         [line for line in content("/proc/self/limits").splitlines() if "core" in line])


if __name__ == "__main__":
    main()
