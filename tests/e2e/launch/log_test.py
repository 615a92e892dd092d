# SPDX-License-Identifier: MIT
"""The recorder's own log: what it says, whom it disturbs, and what is left of it after a kill."""
import os
import re
import signal
import stat
import subprocess

from harness import STALLPROF, Case, content, main, until

LINE = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} (trace|debug|info|warning|error) \S")


class Log(Case):
    def log_of(self, recording):
        text = content(os.path.join(recording, "log"))
        for line in text.splitlines():
            self.assertRegex(line, LINE)
        return text

    def run_with(self, *options, command=("sh", "-c", "echo out; echo err >&2; exit 3"), **how):
        words, recording = self.words(*command, options=options)
        return self.run_words(words, **how), recording

    def test_a_run_leaves_a_log_that_only_its_owner_reads(self):
        done, recording = self.run_with("--hz", "50", "--budget", "2.5", "--no-native")
        self.assertEqual((done.returncode, done.stdout), (3, b"out\n"))
        text = self.log_of(recording)
        for expected in (r"info stallprof [\d.]+, recorder process \d+, command: sh -c ",
                         r"info options: 50 Hz, budget 2.5 %, python on, native off, counters off, gpu off",
                         r"info the command is process \d+", r"info source tier: full, T\d",
                         r"info the command ended with 3; \d+ bytes recorded, 0 processes"):
            self.assertRegex(text, expected)
        self.assertNotRegex(text, " (trace|debug) ")
        self.assertEqual(stat.S_IMODE(os.stat(os.path.join(recording, "log")).st_mode), 0o600)
        self.assertTrue(self.events(recording, "command_end"))

    def test_nothing_of_it_goes_to_the_streams_of_the_job(self):
        traced, recording = self.run_with("--log-level", "trace")
        own = [line for line in traced.stderr.splitlines() if not line.startswith(b"stallprof: ")]
        self.assertEqual((traced.stdout, own), (b"out\n", [b"err"]))
        silent, other = self.run_with("--log-level", "off")
        count = len(traced.stderr.splitlines())
        self.assertEqual(len(silent.stderr.splitlines()), count)
        self.assertFalse(os.path.exists(os.path.join(other, "log")))
        self.assertIn(" trace ", self.log_of(recording))

    def test_signals_are_written_at_debug_and_secrets_never(self):
        words, recording = self.words("sh", "-c", "exec sleep 60", "--api-key=hunter22",
                                      options=("--log-level", "debug"))
        front = subprocess.Popen(words, stderr=subprocess.PIPE, start_new_session=True)
        until(lambda: "the command is process" in content(os.path.join(recording, "log")), "log")
        os.kill(front.pid, signal.SIGTERM)
        front.communicate(timeout=60)
        text = self.log_of(recording)
        self.assertIn("debug signal 15: passed on", text)
        self.assertIn("ended by signal 15", text)
        self.assertNotIn("hunter22", text)

    def test_kill_9_of_the_recorder_leaves_the_log_whole(self):
        words, recording = self.words("sleep", "1")
        front = subprocess.Popen(words, stderr=subprocess.PIPE, start_new_session=True)
        text = until(lambda: (lambda t: "source tier" in t and t)(
            content(os.path.join(recording, "log"))), "the log")
        os.kill(int(re.search(r"recorder process (\d+)", text).group(1)), signal.SIGKILL)
        front.communicate(timeout=60)
        self.assertEqual(front.returncode, 0)
        self.assertTrue(self.log_of(recording).startswith(text))
        self.dump(recording)

    def test_kill_9_of_the_front_is_in_the_log(self):
        words, recording = self.words("sleep", "1")
        front = subprocess.Popen(words, stderr=subprocess.PIPE, start_new_session=True)
        log = os.path.join(recording, "log")
        until(lambda: "the command is process" in content(log), "the log")
        front.kill()
        front.communicate(timeout=60)
        until(lambda: "the end of the command was not seen" in content(log), "its end")
        self.assertIn("warning stallprof run was killed; recorded until the command ended", content(log))
        report = subprocess.run([STALLPROF, "report", recording], stdout=subprocess.PIPE, check=True).stdout.decode()
        self.assertIn("During the run: stallprof run was killed; recorded until the command ended, how is not known.",
                      " ".join(report.split()))

    def test_a_log_that_cannot_grow_changes_nothing(self):
        # Files of at most 2 blocks: the segment and the log run into the limit, the job does not.
        done, recording = self.run_with("--log-level", "trace", command=("sh", "-c", "exit 4"),
                                        preexec_fn=self.limit_files)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.dump(recording)

    @staticmethod
    def limit_files():
        import resource
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))

    def test_a_directory_in_its_place_changes_nothing(self):
        # The recorder makes the recording itself, so the place is taken while it records.
        words, recording = self.words("sh", "-c", "rm %s/log; mkdir %s/log; exit 5" %
                                      ((os.path.join(self.dir, "r1.stallprof"),) * 2))
        done = self.run_words(words)
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertTrue(os.path.isdir(os.path.join(recording, "log")))
        self.assertTrue(self.events(recording, "command_end"))

    def test_doctor_names_the_file_and_a_wrong_level_is_refused(self):
        doctor = subprocess.run([STALLPROF, "doctor"], stdout=subprocess.PIPE, timeout=60)
        self.assertIn(b"NAME.stallprof/log", doctor.stdout)
        done, recording = self.run_with("--log-level", "loud")
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"--log-level", done.stderr)
        self.assertFalse(os.path.exists(recording))


if __name__ == "__main__":
    main()
