# SPDX-License-Identifier: MIT
"""Hosts that refuse: an ordinary user, a container's filter, small limits, a full disk."""
import os
import subprocess
import time
import unittest

from harness import NOBODY, STALLPROF, Case, main, needs_mount, needs_unshare, ordinary, probe


class Hosts(Case):
    def setUp(self):
        super().setUp()
        os.chmod(self.dir, 0o777)

    def sources(self, recording):
        return {line.split('source="', 1)[1].split('"')[0]: line
                for line in self.events(recording, "source")}

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become another user")
    def test_an_ordinary_user_records_the_job(self):
        drop = ordinary(self, NOBODY, STALLPROF)
        words, recording = self.words("sh", "-c", "sleep 0.3; exit 4")
        done = self.run_words(words, preexec_fn=drop)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual(os.stat(recording).st_uid, NOBODY)
        self.assertTrue(self.events(recording, "slice"))
        self.assertIn("state=full", self.sources(recording)["thread_state"])

    def test_a_filter_that_refuses_perf_and_memory_changes_nothing_but_what_is_seen(self):
        words, recording = self.words("sh", "-c", "sleep 0.3; exit 4")
        deny = [probe("deny"), "perf_event_open", "process_vm_readv", "--"]
        done = self.run_words(deny + words)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertTrue(self.events(recording, "slice"))
        sources = self.sources(recording)
        for name in ("task_events", "perf_user"):  # the text form leaves "absent" out
            self.assertNotIn("state=", sources[name])
        self.assertIn("/proc/PID/mem", sources["stack_memory"])
        said = self.run_words(deny + [STALLPROF, "doctor"])
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertRegex(said.stdout, rb"task_events +absent")
        self.assertEqual(said.stdout.count(b"for more data: "), 1, said.stdout)

    def test_an_old_kernels_missing_calls_are_done_without(self):
        words, recording = self.words("sh", "-c", "sleep 0.2; exit 4")
        done = self.run_words([probe("deny"), "pidfd_open", "close_range", "--"] + words)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("exit_code=4", self.events(recording, "command_end")[0])

    def test_doctor_names_every_source_and_one_setting(self):
        said = self.run_words([STALLPROF, "doctor"])
        self.assertEqual((said.returncode, said.stderr), (0, b""))
        self.assertRegex(said.stdout, rb"^host tier T[0-5] ")
        for name in (b"hook", b"task_events", b"thread_state", b"stack_memory", b"cgroup"):
            self.assertIn(b"\n  " + name, said.stdout)
        last = said.stdout.splitlines()[-1]
        self.assertTrue(last.startswith((b"for more data: ", b"no setting makes more data available")), last)
        self.assertEqual(self.run_words([STALLPROF, "doctor", "--nosuch"]).returncode, 2)

    def test_few_descriptors_and_a_file_size_limit_do_not_matter_to_the_job(self):
        for limit in ("ulimit -Sn 16", "ulimit -n 24", "ulimit -f 8"):
            with self.subTest(limit):
                words, recording = self.words("sh", "-c", "sleep 0.3; exit 4")
                done = self.run_words(["bash", "-c", limit + '; exec "$@"', "bash"] + words)
                self.assertEqual(done.returncode, 4, done.stderr)
                if b"unrecorded" not in done.stderr:
                    self.dump(recording)

    @needs_mount
    def test_a_disk_that_fills_up_does_not_matter_to_the_job(self):
        place = self.mount_memory("small", "size=1m")
        recording = os.path.join(place, "r.stallprof")
        script = "i=0; while [ $i -lt 40 ]; do sleep 0.05; i=$((i+1)); done; echo all; exit 4"
        run = subprocess.Popen([STALLPROF, "run", "--report", "none", "-o", recording, "sh", "-c",
                                script], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        run.stderr.readline()
        time.sleep(0.3)
        try:
            with open(os.path.join(place, "filler"), "wb", buffering=0) as filler:
                while True:
                    filler.write(b"x" * 4096)
        except OSError:
            pass
        out, err = run.communicate(timeout=60)
        self.assertEqual((run.returncode, out), (4, b"all\n"), err)
        self.dump(recording)

    @needs_unshare
    def test_as_the_first_process_of_a_container(self):
        done, recording = self.run_as_process_1("sh", "-c", "kill -TERM 1; sleep 0.3; exit 9")
        # The command's own TERM to its parent is no message to the command.
        self.assertEqual(done.returncode, 9, done.stderr)
        self.assertIn("exit_code=9", self.events(recording, "command_end")[0])


if __name__ == "__main__":
    main()
