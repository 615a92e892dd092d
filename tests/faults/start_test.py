# SPDX-License-Identifier: MIT
"""Rows of the fault matrix: what hinders us from starting must not hinder the command."""
import os
import resource
import subprocess
import unittest

from faults import NOBODY_ELSE, STALLPROF, Case, main, needs_mount, ordinary, probe

# Says whether somebody left it a child, without starting one itself.
SCRIPT = "read children < /proc/$$/task/$$/children; echo \"[$children]\"; exit 7"


class Start(Case):
    def check_plain(self, done, case):
        """The command ran as without us; if it was not recorded, one line says so."""
        self.assertEqual((done.returncode, done.stdout), (7, b"[]\n"), (case, done.stderr))
        lines = done.stderr.splitlines()
        if b"unrecorded" in done.stderr:
            self.assertEqual(len(lines), 1, (case, done.stderr))
            self.assertFalse([n for n in os.listdir(self.dir) if n.endswith(".stallprof")], case)
        else:
            self.assertTrue(lines[0].startswith(b"stallprof: recording to"), (case, lines))

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become another user")
    def test_row_39_at_any_limit_of_processes_the_command_runs(self):
        os.chmod(self.dir, 0o777)
        unrecorded, become = 0, ordinary(self, NOBODY_ELSE, STALLPROF)
        for limit in range(1, 9):
            def drop(limit=limit):
                resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))
                become()
            words, _ = self.words("sh", "-c", SCRIPT)
            done = self.run_words(words, preexec_fn=drop)
            self.check_plain(done, limit)
            unrecorded += b"unrecorded" in done.stderr
            for name in os.listdir(self.dir):  # recorded ones
                subprocess.run(["rm", "-r", self.path(name)], check=True)
        self.assertIn(unrecorded, range(1, 8))

    def test_row_39_without_threads_the_command_runs(self):
        words, _ = self.words("sh", "-c", SCRIPT)
        done = self.run_words([probe("deny"), "clone3", "--"] + words)
        self.check_plain(done, "clone3")

    def test_row_64_a_directory_that_squashes_owners_and_refuses_chmod(self):
        words, recording = self.words("sh", "-c", "unset LD_PRELOAD; exit 4")
        done = self.run_words(words, env=dict(os.environ, LD_PRELOAD=os.environ["STALLPROF_SQUASH"]))
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn(b"recording to", done.stderr)
        self.assertIn("exit_code=4", self.events(recording, "command_end")[0])

    @needs_mount
    def test_row_65_in_a_working_directory_that_is_read_only_it_records_elsewhere(self):
        here, there = self.mount_memory("here", "ro"), self.path("there")
        os.mkdir(there)
        run = [STALLPROF, "run", "--report", "none", "--", "sh", "-c", "exit 4"]
        done = self.run_words(run, cwd=here, env=dict(os.environ, TMPDIR=there))
        self.assertEqual(done.returncode, 4, done.stderr)
        name = os.path.join(there, os.listdir(there)[0])
        self.assertIn(("recording to '%s'" % name).encode(), done.stderr)
        self.assertIn("exit_code=4", self.events(name, "command_end")[0])
        done = self.run_words(run, cwd=here, env=dict(os.environ, TMPDIR=here))
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        self.assertIn(b"the command runs unrecorded", done.stderr)
        named = self.run_words(run[:2] + ["-o", "x"] + run[2:], cwd=here)  # who names a place names another
        self.assertEqual((named.returncode, named.stderr.count(b"\n")), (125, 1), named.stderr)


if __name__ == "__main__":
    main()
