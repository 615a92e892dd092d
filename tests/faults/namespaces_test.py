# SPDX-License-Identifier: MIT
"""Rows of the fault matrix: a job in namespaces of its own, as another user, with an environment from elsewhere."""
import os
import re
import shutil
import sys
import textwrap
import unittest

from faults import STALLPROF, Case, main, needs_unshare

PUTS = 40
# Reports from inside as a framework's adapter does, for longer than a slot's owner goes unasked.
REPORT = textwrap.dedent("""
    import time
    from stallprof_hook import events
    if events.ready():
        for i in range(%d):
            events.put(events.FRAMEWORK_SEEN, events.now(), "put%%d" %% i, "v")
            time.sleep(0.06)
    else:
        time.sleep(1.5)
    """ % PUTS)
PYTHON = os.path.realpath(sys.executable)


@needs_unshare
class Namespaces(Case):
    def record(self, *words):
        """The recording of what reports from inside, started by `words`."""
        words, recording = self.words(*words, PYTHON, "-c", REPORT)
        done = self.run_words(words)
        if b"unshare:" in done.stderr:
            self.skipTest("needs root to unshare")
        self.assertEqual(done.returncode, 0, done.stderr)
        return recording

    def check_puts(self, recording):
        """All are there, of one process and thread that the recorder knows, at times within the run."""
        text = self.dump(recording).splitlines()
        puts = [line for line in text if 'name="put' in line]
        self.assertEqual(len(puts), PUTS)
        processes = {re.search(r"process=(\d+)", line)[1] for line in puts}
        self.assertEqual(len(processes), 1, processes)
        of = processes.pop()
        born = [line for line in text if re.match(r"\S+ process process=%s " % of, line)]
        self.assertTrue(any("python" in line for line in born), born)
        ends = [line for line in text if re.match(r"\S+ command_end\b", line)]
        end = float(ends[0].split()[0].rstrip("s"))
        self.assertTrue(all(0 <= float(line.split()[0].rstrip("s")) <= end for line in puts), puts[0])

    def hook_sources(self, recording):
        return [line for line in self.events(recording, "source") if 'source="hook"' in line]

    def test_row_58_events_from_a_nested_pid_namespace(self):
        recording = self.record("unshare", "-p", "-f")
        self.check_puts(recording)
        self.assertEqual(self.hook_sources(recording), [])

    def test_row_58_a_proc_of_its_own_is_said(self):
        said = self.hook_sources(self.record("unshare", "-p", "-f", "--mount-proc"))
        self.assertEqual(len(said), 1, said)
        self.assertIn("/proc of its own", said[0])

    def test_row_58_under_the_proc_of_another_namespace_nobody_elses_process_is_the_jobs(self):
        """The numbers of the recorder's namespace are other processes' there."""
        words, recording = self.words("sh", "-c", "for i in 1 2 3 4; do sleep 0.1; done; exit 4")
        done = self.run_words(["unshare", "-p", "-f", *words])
        if b"unshare:" in done.stderr:
            self.skipTest("needs root to unshare")
        self.assertEqual(done.returncode, 4, done.stderr)
        for kind in ("process", "thread", "slice"):
            self.assertEqual(self.events(recording, kind), [])
        absent = {name for line in self.events(recording, "source") if "/proc is of another pid namespace" in line
                  for name in re.findall(r'source="(\w+)"', line)}
        self.assertLessEqual({"process_tree", "thread_state", "python_stacks", "hook"}, absent)
        shown = self.run_words([STALLPROF, "report", recording])
        self.assertIn("/proc is of another pid namespace", " ".join(shown.stdout.decode().split()))

    def test_row_46_events_from_a_time_namespace(self):
        self.check_puts(self.record("unshare", "-T", "-f", "--monotonic", "100000", "--boottime", "200000"))

    def test_row_46_a_recorder_in_a_time_namespace(self):
        """Its clock is not the one by which the kernel's records of births are stamped."""
        words, recording = self.words("sh", "-c", "for i in 1 2 3 4 5; do sleep 0.2 & wait; done")
        done = self.run_words(["unshare", "-T", "-f", "--monotonic", "100000", "--boottime", "100000", *words])
        if b"unshare:" in done.stderr:
            self.skipTest("needs root to unshare")
        text = self.dump(recording).splitlines()
        at = {kind: [int(line.split()[0]) for line in text if re.match(r"\d+ " + kind, line)]
              for kind in ("clock ", "process ", "command_end ")}
        self.assertGreaterEqual(len(at["process "]), 6, text)  # the shell, too
        self.assertTrue(all(at["clock "][0] - 10**9 <= born <= at["command_end "][0] for born in at["process "]), at)
        ran = [int(n) for n in re.findall(r" slice .* duration=(\d+)", "\n".join(text))]
        self.assertLess(max(ran, default=0), at["command_end "][0] - at["clock "][0])


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "needs root to become another user")
class Users(Case):
    def report_of(self, *words):
        words, recording = self.words(*words, PYTHON, "-c", "import time; time.sleep(1.5)")
        done = self.run_words(words)
        if done.returncode:
            self.skipTest("needs a Python that every user may run")
        shown = self.run_words([STALLPROF, "report", recording])
        self.assertEqual(shown.returncode, 0, shown.stderr)
        return " ".join(shown.stdout.decode().split())

    def test_row_59_a_job_that_drops_privileges_has_lost_the_hook_and_the_report_says_so(self):
        for words, why in ((["setpriv", "--reuid=65534"], "runs as user 65534"),
                           (["setpriv", "--bounding-set=-all", "--inh-caps=-all"], "has fewer capabilities"),
                           (["unshare", "-U", "-r"], "user namespace of its own")):
            with self.subTest(why):
                said = self.report_of(*words)
                self.assertIn(why, said)
                self.assertIn("the hook cannot hand over what it sees there", said)
                self.assertNotIn("no process of the run loaded a framework", said)

    def test_row_59_a_job_that_keeps_them_has_not(self):
        said = self.report_of("env")
        self.assertNotIn("hook cannot", said)


class Elsewhere(Case):
    def test_row_60_an_environment_from_another_host_turns_nothing_off(self):
        """Its path is of something else here: of our own standard error, of a file, of another run's memory."""
        with open(self.path("file"), "wb+") as file:
            file.truncate(64 << 20)
            for path in ("/proc/self/fd/2", "/proc/%d/fd/%d" % (os.getpid(), file.fileno()), "/proc/1/fd/0"):
                words, recording = self.words("sh", "-c", "exit 5")
                done = self.run_words(words, env=dict(os.environ, STALLPROF_EVENTS=path,
                                                      STALLPROF_RECORDING="/elsewhere/r.stallprof"))
                self.assertEqual(done.returncode, 5, done.stderr)
                self.assertNotIn(b"inside another", done.stderr)
                self.assertTrue(self.events(recording, "command_end"))

    def test_row_60_inside_another_run_of_this_host_it_names_which(self):
        inner = self.path("inner.stallprof")
        words, _ = self.words("sh", "-c", 'STALLPROF_RECORDING=/elsewhere/r.stallprof exec "$@"', "sh",
                              STALLPROF, "run", "--report", "none", "-o", inner, "sh", "-c", "exit 6")
        done = self.run_words(words)
        self.assertEqual(done.returncode, 6, done.stderr)
        self.assertTrue(self.events(inner, "command_end"))


if __name__ == "__main__":
    main()
