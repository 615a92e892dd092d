#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gate --ab: both sides run by turns before they are judged. What decides is a budget, so that no
verdict hangs on how fast this host is; that a slower change fails, the recipes' test shows."""
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
import unittest
import xml.etree.ElementTree as ElementTree

import reports

ANY = 'schema = "stallprof.gate/1"\n[[metric]]\nname = "run.wall_ns"\nmax = "10min"\n'
NEVER = ANY.replace('max = "10min"', 'min = "10min"')
NOTE = 'basename "$PWD" >>"$ORDER"; echo said by "$PWD"'


class Turns(reports.Folder):
    def setUp(self):
        super().setUp()
        os.mkdir(os.path.join(self.dir, "there"))
        self.write("stallprof-gate.toml", ANY)
        self.order = os.path.join(self.dir, "order")

    def ab(self, *words, status=0, env=None):
        """What it said on stdout and on stderr."""
        got = reports.call("gate", *words, cwd=self.dir,
                           env={"ORDER": self.order, "STALLPROF_CONFIG": "none", **(env or {})})
        out, err = got.stdout.decode(), got.stderr.decode()
        self.assertEqual(got.returncode, status, out + err)
        return out, err

    def made(self, name="kept"):
        return sorted(os.listdir(os.path.join(self.dir, name)))

    def test_one_command_in_two_directories_base_head_head_base(self):
        out, err = self.ab("--ab", "3", "--base-dir", "there", "--keep", "kept", "--",
                           "sh", "-c", NOTE)
        here = os.path.basename(self.dir)
        self.assertEqual(self.read("order").split(),
                         ["there", here, here, "there", "there", here])
        self.assertEqual(self.made(), sorted(
            f"{side}-{i}.{kind}" for side in ("base", "head") for i in (1, 2, 3)
            for kind in ("log", "stallprof")))
        self.assertEqual(re.findall(r"(?m)^stallprof: run (\d) of 6: (\S+) ended with 0 after", err),
                         [(str(n + 1), name) for n, name in enumerate(
                             ["base-1", "head-1", "head-2", "base-2", "base-3", "head-3"])])
        self.assertRegex(out, r"(?m)^PASS  no regression\.$")
        self.assertIn("are in 'kept'", out)
        self.assertNotIn("said by", out + err)
        self.assertIn("said by", self.read("kept/base-2.log"))

    def test_two_commands_whose_options_are_their_own(self):
        self.ab("--keep", "kept", "--ab", "1", "sh", "-c", 'echo "$@"', "-o", "--ab", "--keep",
                "--", "sh", "-c", 'echo "$@"', "x", "a", "--", "-b")
        self.assertIn("--ab --keep\n", self.read("kept/base-1.log"))
        self.assertIn("a -- -b\n", self.read("kept/head-1.log"))

    def test_streams_that_are_closed_take_neither_the_log_nor_the_commands_output(self):
        for name, closed in ("in", "<&-"), ("out", ">&-"):
            words = ["gate", "--ab", "1", "--keep", name, "true", "--", "sh", "-c",
                     'echo hi; for i in 3 4 5 6 7 8 9; do [ -e /proc/$$/fd/$i ] && echo leaked $i; done; true']
            subprocess.run(["sh", "-c", f'"$0" "$@" {closed}', reports.STALLPROF, *words], cwd=self.dir,
                           stderr=subprocess.PIPE, env=dict(os.environ, STALLPROF_CONFIG="none"), timeout=60)
            log = self.read(name + "/head-1.log")
            self.assertIn("hi\n", log)
            self.assertNotIn("leaked", log)

    def test_no_more_runs_are_made_of_what_cannot_be_compared(self):
        self.write("stallprof-gate.toml", ANY + '[sampling]\nmin_steps = 1000\n')
        _, err = self.ab("--ab", "3", "--keep", "kept", "true", "--", "true", status=3)
        self.assertEqual(len(self.made()), 2 * 2)
        self.assertIn("run 2 of 6", err)

    def test_the_policy_decides(self):
        self.write("stallprof-gate.toml", NEVER)
        out, _ = self.ab("--ab", "1", "true", "--", "true", status=1)
        self.assertIn("FAIL", out)
        self.assertEqual(len([n for n in os.listdir(self.dir) if n.startswith("gate.")]), 1)

    def test_more_runs_only_while_the_gate_is_unsure(self):
        # Two runs a side are too few for a verdict, and so are four: all are made.
        self.write("stallprof-gate.toml", 'schema = "stallprof.gate/1"\n[[metric]]\n'
                   'name = "run.wall_ns"\nmax_regression = "3%"\n')
        out, err = self.ab("--ab", "2", "--max-runs", "4", "--keep", "unsure", "true", "--", "true")
        self.assertEqual(len(self.made("unsure")), 2 * 2 * 4)
        self.assertIn("run 8 of 8: base-4 ended", err)
        # A budget says at the first check that counts, five runs a side, all that it ever will.
        self.write("stallprof-gate.toml", ANY)
        out, err = self.ab("--ab", "5", "--max-runs", "9", "--keep", "sure", "true", "--", "true")
        self.assertEqual(len(self.made("sure")), 2 * 2 * 5)
        self.assertIn("run 10 of at most 18: ", err)
        self.assertIn("Analysed after 5 runs a side, of at most 9; each of 2 planned analyses tests at 1 %",
                      re.sub(r"\s+", " ", out))

    def test_a_command_that_fails_ends_the_turns(self):
        for base, head, made in (("exit 3", "true", ["base-1"]),
                                 ("true", "kill -9 $$", ["base-1", "head-1"])):
            with self.subTest(head=head):
                keep = "kept-" + made[-1]
                out, err = self.ab("--ab", "5", "--keep", keep, "--report", "junit=gate.xml", "sh",
                                   "-c", base, "--", "sh", "-c", head, status=4)
                self.assertIn("WORKLOAD FAILED", out)
                self.assertIn(f"The series ended after {made[-1]}, which", out)
                self.assertEqual(self.made(keep),
                                 sorted(n + k for n in made for k in (".log", ".stallprof")))
                self.assertEqual(err.count("\n"), len(made))
                ElementTree.fromstring(self.read("gate.xml"))

    def test_a_run_whose_recorder_died_is_judged_by_how_it_ended(self):
        # The front's children are the command and the recorder.
        kill = ('for p in $(cat /proc/$PPID/task/$PPID/children); do [ $p = $$ ] || kill -9 $p; done; '
                'sleep .2; ')
        for end, status, why in (("exit 3", 4, r"head-1\.stallprof' exited with status 3"),
                                 ("kill -9 $PPID; sleep .2", 4, r"head-1\.stallprof' died of signal 9"),
                                 ("exit", 3, r"head-1\.stallprof' has no end")):
            with self.subTest(end=end):
                out, _ = self.ab("--ab", "1", "--keep", f"kept-{len(end)}", "true", "--", "sh", "-c",
                                 "sleep .3; " + kill + end, status=status)
                self.assertRegex(re.sub(r"\s+", " ", out), why)

    def test_what_would_not_be_recorded_is_not_run(self):
        words = ["--ab", "1", "--keep", "kept", "touch", "ran", "--", "touch", "ran"]
        _, err = self.ab(*words, status=2, env={"STALLPROF_DISABLE": "1"})
        self.assertEqual(err, "stallprof: STALLPROF_DISABLE=1 is set: no run would be recorded\n")
        inside = reports.call("run", "--report", "none", "-o", "outer.stallprof", "--", reports.STALLPROF,
                              "gate", *words, cwd=self.dir, env={"STALLPROF_CONFIG": "none"})
        self.assertEqual(inside.returncode, 2, inside.stderr)
        self.assertIn(b"stallprof: inside another stallprof run: ", inside.stderr)
        self.assertFalse({"ran", "kept"} & set(os.listdir(self.dir)))

    def test_an_output_that_cannot_be_written_is_said_before_the_first_run(self):
        os.mkdir(os.path.join(self.dir, "taken"))
        for words in (["--report", "junit=out/gate.xml"], ["--format", "json", "-o", "taken"]):
            with self.subTest(words=words):
                _, err = self.ab("--ab", "2", "--keep", "kept", *words, "true", "--", "true", status=2)
                self.assertRegex(err, r"^stallprof: cannot write '(out/gate\.xml|taken)': [^\n]*\n$")
                self.assertFalse(os.path.exists(os.path.join(self.dir, "kept")))

    def test_the_verdict_is_printed_though_another_output_fails(self):
        os.mkdir(os.path.join(self.dir, "out"))
        out, err = self.ab("--ab", "1", "--report", "junit=out/gate.xml", "--report", "json=gate.json",
                           "rm", "-rf", "out", "--", "true", status=2)
        self.assertIn("PASS", out)
        self.assertIn("cannot write 'out/gate.xml'", err)
        self.assertIn("stallprof.gate_result/1", self.read("gate.json"))

    def test_an_interrupt_from_the_terminal_lets_the_command_save(self):
        self.write("save.py", "import time\ntry:\n    open('began', 'w').close()\n    time.sleep(60)\n"
                   "except KeyboardInterrupt:\n    time.sleep(1)\n    open('saved', 'w').close()\n")
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.dir)
            os.environ["STALLPROF_CONFIG"] = "none"
            command = [sys.executable, "save.py"]
            os.execv(reports.STALLPROF, ["stallprof", "gate", "--ab", "2", "--keep", "kept", *command,
                                         "--", *command])
        self.addCleanup(os.close, terminal)
        while not os.path.exists(os.path.join(self.dir, "began")):
            time.sleep(0.02)
        os.write(terminal, b"\x03")
        said, status = b"", 0
        while not status:
            if select.select([terminal], [], [], 0.05)[0]:
                try:
                    said += os.read(terminal, 4096)
                except OSError:
                    pass  # nobody has it open any more
            status = os.waitpid(pid, os.WNOHANG)[1]
        self.assertEqual(os.WTERMSIG(status), signal.SIGINT, said)
        self.assertTrue(os.path.exists(os.path.join(self.dir, "saved")), said)
        self.assertRegex(said, rb"interrupted: base-1 ended with 0; recordings and output are in "
                         rb"'[^']*/kept'\r\n")

    def test_a_command_that_cannot_be_run(self):
        out, err = self.ab("--ab", "5", "./no-such", "--", "true", status=2)
        self.assertEqual(out, "")
        self.assertRegex(err, r"^stallprof: base-1 could not be recorded: stallprof: '\./no-such': "
                              r"No such file or directory\n$")

    def test_a_metric_that_is_not_there_is_reported_after_two_runs(self):
        self.write("stallprof-gate.toml", ANY.replace("run.wall_ns", "steps.time_ns.p50"))
        _, err = self.ab("--ab", "5", "--keep", "kept", "true", "--", "true", status=2)
        self.assertIn("has no steps.time_ns.p50", err)
        self.assertEqual(len(self.made()), 2 * 2)

    def test_usage(self):
        run = ["--", "true"]
        os.mkdir(os.path.join(self.dir, "kept"))
        for words, why in ((["--ab", "5", *run], "both sides"),
                           (["--ab", "0", "true", *run], "1 to 1000"),
                           (["--ab", "many", "true", *run], "1 to 1000"),
                           (["--ab", "5", "--max-runs", "4", "true", *run], "less than"),
                           (["--ab", "5", "--max-runs", "x", "true", *run], "1 to 1000"),
                           (["--max-runs", "5", "a.json", "--", "b.json"], "need --ab"),
                           (["--ab", "5", "true"], "COMMAND"),
                           (["--keep", "x", "a.json", "--", "b.json"], "need --ab"),
                           (["a.json", "--ab", "5", *run], "before the first argument"),
                           (["--ab", "5", "--baseline", "save", "true", *run], "cannot be combined"),
                           (["--ab", "5", "--base-dir", "nowhere", *run], "not a directory"),
                           (["--ab", "5", "--keep", "kept", "true", *run], "never overwrites"),
                           (["--ab", "5", "--keep", "no/such", "true", *run], "cannot make")):
            with self.subTest(words=words):
                out, err = self.ab(*words, status=2)
                self.assertEqual(out, "")
                self.assertRegex(err, r"^stallprof: [^\n]*" + why + r"[^\n]*\n$")

    def test_it_is_not_a_habit(self):
        self.write("habits.toml", '[gate]\nab = "3"\n')
        env = {"STALLPROF_CONFIG": os.path.join(self.dir, "habits.toml")}
        _, err = self.ab("--", "true", status=2, env=env)
        self.assertIn("on the command line", err)


if __name__ == "__main__":
    unittest.main()
