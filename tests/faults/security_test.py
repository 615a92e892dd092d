# SPDX-License-Identifier: MIT
"""What the guide's page on security promises of files: umask, links, directories that others can write."""
import os
import shutil
import stat
import subprocess
import unittest

from faults import NOBODY, STALLPROF, Case, main, ordinary, until


class Files(Case):
    def setUp(self):
        super().setUp()
        os.chmod(self.dir, 0o1777)  # sticky, as /tmp

    def run_in(self, *options, **how):
        return self.run_words([STALLPROF, "run", *options, "--", "sh", "-c", "exit 4"], **how)

    def test_a_recording_is_the_users_alone_whatever_the_umask(self):
        for mask in (0, 0o022, 0o777):
            recording = self.path("%o.stallprof" % mask)
            done = self.run_in("-o", recording, "--report", "none", preexec_fn=lambda: os.umask(mask))
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertEqual(stat.S_IMODE(os.stat(recording).st_mode), 0o700)
            names = os.listdir(recording)
            self.assertIn("log", names)
            for name in names:
                self.assertEqual(stat.S_IMODE(os.stat(os.path.join(recording, name)).st_mode), 0o600, name)

    def test_the_command_keeps_its_umask(self):
        done = self.run_words([STALLPROF, "run", "--report", "none", "--", "sh", "-c", "umask"],
                              preexec_fn=lambda: os.umask(0o027))
        self.assertEqual(done.stdout, b"0027\n")

    def test_no_link_is_followed_and_nothing_that_exists_is_replaced(self):
        theirs = self.path("theirs")
        os.mkdir(theirs)
        for name, target in (("dangling", "nowhere"), ("directory", theirs), ("file", __file__)):
            os.symlink(target, self.path(name))
            done = self.run_in("-o", self.path(name))
            self.assertEqual((done.returncode, done.stderr.count(b"\n")), (125, 1), done.stderr)
        self.assertEqual(sorted(os.listdir(self.dir)), ["dangling", "directory", "file", "theirs"])
        self.assertEqual(os.listdir(theirs), [])

    def test_a_report_follows_no_link_and_replaces_nothing(self):
        victim, link = self.path("victim"), self.path("link")
        with open(victim, "w") as file:
            file.write("kept")
        os.symlink(victim, link)
        done = self.run_in("-o", self.path("a.stallprof"), "--report", "html=" + victim)
        self.assertEqual(done.returncode, 125, done.stderr)
        done = self.run_in("-o", self.path("a.stallprof"), "--report", "html=" + link)
        with open(victim) as file:
            self.assertEqual(file.read(), "kept")
        self.assertTrue(os.path.islink(link))
        forced = self.run_words([STALLPROF, "report", self.path("a.stallprof"), "--force", "-o", link])
        self.assertEqual(forced.returncode, 1)
        with open(victim) as file:
            self.assertEqual(file.read(), "kept")

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become another user")
    def test_in_a_sticky_directory_a_name_that_another_took_is_left_to_them(self):
        taken, as_nobody = self.path("taken.stallprof"), ordinary(self, NOBODY)
        subprocess.run(["mkdir", taken], check=True, preexec_fn=as_nobody)
        done = self.run_in("--name", "taken", "--report", "none")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual(os.listdir(taken), [])
        self.assertTrue(os.listdir(self.path("taken.2.stallprof")))
        done = self.run_in("-o", taken)
        self.assertEqual(done.returncode, 125)
        # Nor can they take ours away.
        gone = subprocess.run(["mv", self.path("taken.2.stallprof"), self.path("x")], preexec_fn=as_nobody,
                              stderr=subprocess.DEVNULL)
        self.assertNotEqual(gone.returncode, 0)
        seen = subprocess.run(["ls", self.path("taken.2.stallprof")], preexec_fn=as_nobody,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.assertNotEqual(seen.returncode, 0)

    def test_what_is_put_in_the_place_of_a_recording_stays_as_it_is(self):
        """Without the sticky bit anybody can do this."""
        recording, away, victim = self.path("r.stallprof"), self.path("away"), self.path("victim")
        run = subprocess.Popen([STALLPROF, "run", "-o", recording, "--report", "none", "--log-level", "trace", "--",
                                "sh", "-c", "read go; sleep 1.2; exit 4"], stdin=subprocess.PIPE,
                               stderr=subprocess.PIPE)
        self.addCleanup(lambda: run.poll() is None and run.kill())
        self.assertIn(b"recording to", run.stderr.readline())
        until(lambda: os.path.exists(os.path.join(recording, "log")), "the log")
        os.rename(recording, away)
        os.mkdir(recording)
        with open(victim, "w") as file:
            file.write("kept")
        for name in ("log", "log.1", "events-000002.seg"):
            os.symlink(victim, os.path.join(recording, name))
        run.communicate(b"go\n", timeout=60)
        self.assertEqual(run.returncode, 4)
        with open(victim) as file:
            self.assertEqual(file.read(), "kept")
        self.assertEqual(len(os.listdir(recording)), 3)
        self.assertIn("exit_code=4", self.events(away, "command_end")[0])
        with open(os.path.join(away, "log")) as log:
            self.assertIn("the command ended with 4", log.read())
        shutil.rmtree(recording)


if __name__ == "__main__":
    main()
