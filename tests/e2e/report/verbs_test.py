#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""report, compare and explain on bad input and good: one clear line, the right status."""
import fcntl
import json
import os
import pty
import re
import select
import shutil
import stat
import struct
import subprocess
import tempfile
import termios
import unittest

STALLPROF = os.environ["STALLPROF"]


def call(*words, cwd=None, env=None):
    full = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR")}
    full.update(env or {})
    return subprocess.run([STALLPROF, *words], cwd=cwd, env=full, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)


def on_terminal(words, columns, env):
    """What a verb writes to a terminal of that width."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    full = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR")}
    child = subprocess.Popen([STALLPROF, *words], stdin=slave, stdout=slave, stderr=slave,
                             env={**full, **env})
    os.close(slave)
    out = b""
    try:
        while True:
            out += os.read(master, 65536)
    except OSError:  # EIO: the other end is closed
        pass
    os.close(master)
    child.wait()
    return out.decode().replace("\r\n", "\n")


class Base(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp()
        cls.recording = os.path.join(cls.dir, "r.stallprof")
        cls.ran = call("run", "-o", cls.recording, "--report", "none", "--", "sleep", "0.3")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    def path(self, name):
        return os.path.join(self.dir, name)

    def fails(self, status, pattern, *words, lines=1):
        got = call(*words, cwd=self.dir)
        self.assertEqual(got.returncode, status, got)
        self.assertEqual(got.stdout, b"")
        text = got.stderr.decode()
        if lines:
            self.assertEqual(text.count("\n"), lines, text)
        self.assertTrue(text.startswith("stallprof: "), text)
        self.assertRegex(text, pattern)
        return text


class BadInput(Base):
    def test_a_recording_that_is_not_there(self):
        self.fails(1, "no-such", "report", "no-such.stallprof")

    def test_a_directory_that_is_no_recording(self):
        os.makedirs(self.path("empty"), exist_ok=True)
        self.fails(1, "empty", "report", "empty")

    def test_a_file_that_is_no_recording(self):
        with open(self.path("file"), "w", encoding="utf-8") as out:
            out.write("text")
        self.fails(1, "file", "report", "file")

    def test_usage(self):
        self.fails(2, "--help", "report")
        self.fails(2, "--help", "report", "a", "b")
        self.fails(2, "--help", "report", "--no-such-option", "a")
        self.fails(2, "--help", "report", "--format", "pdf", "a")
        for price in "much", "-1", "nan", "1e400":
            self.fails(2, "--price takes a number, 0 or more, not '%s'" % price, "report", "--price", price, "a")
        self.fails(2, "BASE", "compare")
        self.fails(2, "BASE", "compare", "only-one")
        self.fails(2, "BASE", "compare", "a", "b", "c")
        self.fails(2, "BASE", "compare", "a", "--")

    def test_hostile_words_reach_the_terminal_escaped(self):
        for words in (["report", "\x1b]0;x\x07"], ["report", "--\x1b[2J", "a"],
                      ["explain", "\x1b[2J"], ["compare", "\x1b[2J", "b"]):
            got = call(*words)
            self.assertNotEqual(got.returncode, 0)
            self.assertNotIn(b"\x1b", got.stderr)
            self.assertNotIn(b"\x07", got.stderr)

    def test_compare_names_what_it_cannot_read(self):
        self.fails(1, "no-such", "compare", "no-such", "--", "other")
        with open(self.path("not.json"), "w", encoding="utf-8") as out:
            out.write("{}")
        self.fails(1, "not.json.*not a stallprof report", "compare", "not.json", "not.json")
        with open(self.path("v9.json"), "w", encoding="utf-8") as out:
            json.dump({"schema": "stallprof.report/9"}, out)
        self.fails(1, "stallprof.report/9", "compare", "v9.json", "v9.json")


class Report(Base):
    def setUp(self):
        self.assertEqual(self.ran.returncode, 0, self.ran.stderr)

    def test_a_job_without_training(self):
        got = call("report", self.recording)
        self.assertEqual(got.returncode, 0, got.stderr)
        text = got.stdout.decode("ascii")
        self.assertIn("steps unknown", text)
        self.assertIn("No verdict", text)
        self.assertLessEqual(text.count("\n"), 60)
        self.assertLessEqual(max(map(len, text.splitlines())), 100)

    def test_json_has_no_steps_and_no_source(self):
        got = call("report", self.recording, "--format", "json")
        value = json.loads(got.stdout)
        self.assertEqual(value["schema"], "stallprof.report/1")
        self.assertEqual(value["steps"]["count"], 0)
        self.assertIsNone(value["steps"]["source"])
        self.assertEqual(value["verdict"]["bound_by"], "unknown")
        self.assertEqual(value["run"]["exit"], {"code": 0, "signal": None})
        self.assertEqual(value["breakdown"]["scope"], "run")

    def test_real_json_fits_the_schema(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("python3-jsonschema is not installed")
        with open(os.environ["SCHEMA"], encoding="utf-8") as schema:
            validator = jsonschema.Draft7Validator(json.load(schema))
        value = json.loads(call("report", self.recording, "--format", "json").stdout)
        self.assertEqual([f"{list(e.path)}: {e.message}" for e in validator.iter_errors(value)], [])

    def test_markdown(self):
        got = call("report", self.recording, "--format", "md")
        self.assertTrue(got.stdout.startswith(b"# stallprof report\n"))

    def test_colour_only_where_asked_for(self):
        for words, env, colour in [([], {}, False), (["--color", "always"], {}, True),
                                   (["--color", "always"], {"NO_COLOR": "1"}, True),
                                   ([], {"FORCE_COLOR": "1"}, True),
                                   ([], {"CLICOLOR_FORCE": "0"}, False),
                                   ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
                                   (["--color", "never"], {"FORCE_COLOR": "1"}, False)]:
            with self.subTest((words, env)):
                got = call("report", self.recording, *words, env=env)
                self.assertEqual(b"\x1b[" in got.stdout, colour)
        coloured = call("report", self.recording, "--color", "always").stdout
        self.assertEqual(re.sub(rb"\x1b\[\d+m", b"", coloured),
                         call("report", self.recording).stdout)

    def test_a_terminal_gets_colour_and_its_own_width(self):
        for env, colour in [({"TERM": "xterm"}, True), ({"TERM": "dumb"}, False),
                            ({"TERM": "xterm", "NO_COLOR": "1"}, False),
                            ({"TERM": "xterm", "NO_COLOR": ""}, True)]:
            with self.subTest(env):
                text = on_terminal(["report", self.recording], 90, env)
                self.assertEqual("\x1b[" in text, colour)
                plain = re.sub(r"\x1b\[\d+m", "", text)
                self.assertNotIn("\x1b", plain)
                self.assertLessEqual(max(map(len, plain.splitlines())), 90)

    def test_columns_are_respected_within_80_and_120(self):
        widths = {}
        for columns in ("10", "80", "120", "4000"):
            text = call("report", self.recording, env={"COLUMNS": columns}).stdout.decode()
            widths[columns] = max(map(len, text.splitlines()))
        self.assertLessEqual(max(widths["10"], widths["80"]), 80)
        self.assertLessEqual(max(widths["120"], widths["4000"]), 120)

    def test_a_file_is_written_whole_or_not_at_all(self):
        target = self.path("out.json")
        with open(target, "w", encoding="utf-8") as out:
            out.write("old")
        words = ("report", self.recording, "--format", "json", "-o", target)
        self.fails(1, "never overwrites: choose another name, or use --force", *words)
        with open(target, encoding="utf-8") as out:
            self.assertEqual(out.read(), "old")
        got = call(*words, "--force")
        self.assertEqual((got.returncode, got.stdout), (0, b""))
        with open(target, encoding="utf-8") as out:
            json.load(out)
        for form in ("csv", "folded", "chrome", "openmetrics"):
            self.fails(1, "never overwrites", "export", "-f", form, "-o", target, self.recording)
        empty = self.path("empty")  # as mktemp and CI make them
        open(empty, "w", encoding="utf-8").close()
        os.chmod(empty, 0o600)
        self.assertEqual(call("report", self.recording, "-o", empty).returncode, 0)
        self.assertEqual(stat.S_IMODE(os.stat(empty).st_mode), 0o600)
        # Reported before the command runs, not when hours of training are over.
        mark = self.path("ran")
        got = call("run", "-o", self.path("n.stallprof"), "--report", "json=" + target, "--", "touch", mark)
        self.assertEqual(got.returncode, 125, got.stderr)
        self.assertFalse(os.path.exists(mark))
        left = subprocess.run(["sh", "-c", 'touch "$2.tmp.$$"; exec "$0" report "$1" -o "$2"', STALLPROF, self.recording,
                               self.path("again.txt")], check=False)   # by one that was killed, of the same pid
        self.assertEqual((left.returncode, os.path.getsize(self.path("again.txt")) > 0), (0, True))
        stale, = (n for n in os.listdir(self.dir) if ".tmp" in n)
        os.remove(self.path(stale))
        self.fails(1, "cannot write", "report", self.recording, "-o", self.path("no/such/dir"))
        self.fails(1, "cannot write", "report", self.recording, "-o", self.dir)
        self.assertEqual([n for n in os.listdir(self.dir) if ".tmp" in n], [])

    def test_a_symbolic_link_is_refused_and_a_device_is_written_to(self):
        with open(self.path("real"), "w", encoding="utf-8") as out:
            out.write("precious")
        os.symlink(self.path("real"), self.path("link"))
        self.fails(1, "symbolic link", "report", self.recording, "-o", self.path("link"))
        with open(self.path("real"), encoding="utf-8") as out:
            self.assertEqual(out.read(), "precious")
        self.assertEqual(call("report", self.recording, "-o", "/dev/null").returncode, 0)
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))
        self.fails(1, "cannot write", "report", self.recording, "-o", "/dev/full")

    def test_what_does_not_arrive_on_standard_output_is_a_failure_of_every_command(self):
        for words in (["doctor"], ["--help"], ["--version"], ["export", "--help"], ["explain", "steps"]):
            with open("/dev/full", "wb") as full, self.subTest(words=words):
                done = subprocess.run([STALLPROF, *words], stdout=full, stderr=subprocess.PIPE, timeout=120)
                self.assertEqual(done.returncode, 1)
                self.assertIn(b"cannot write 'standard output'", done.stderr)

    def test_two_reports_of_a_run_are_two_files(self):
        name = self.path("two.stallprof")
        for words in (["json", "json"], ["json=" + self.path("x"), "md=" + self.path("x")]):
            self.fails(125, "another report has this file", "run", "-o", name, "--report", words[0], "--report", words[1],
                       "--", "true")
        self.assertFalse(os.path.exists(name))
        got = call("run", "-o", name, "--report", "json=/dev/null", "--report", "md=/dev/null", "--", "true")
        self.assertEqual(got.returncode, 0, got.stderr)

    def test_a_recording_whose_name_begins_with_a_dash(self):
        name = "-dash.stallprof"
        os.symlink(self.recording, self.path(name))
        text = call("report", "--", name, cwd=self.path("")).stdout.decode()
        self.assertIn(" ./" + name, text)
        self.assertNotIn(" " + name, text)

    def test_compare_takes_recordings_and_reports(self):
        target = self.path("base.json")
        call("report", self.recording, "--format", "json", "-o", target)
        for words in ([target, self.recording], [target, "--", self.recording]):
            got = call("compare", *words)
            self.assertEqual(got.returncode, 0, got.stderr)
            self.assertIn(b"Advisory only", got.stdout)
            self.assertIn(b"1.000x", got.stdout)
        got = call("compare", target, target, "--", target, self.recording)
        self.assertIn(b"95 % interval", got.stdout)

    def test_a_price_gives_a_cost(self):
        value = json.loads(call("report", self.recording, "--format", "json", "--price",
                                "2.5").stdout)
        self.assertEqual(value["cost"]["price_per_hour"], 2.5)
        whole = json.loads(call("report", self.recording, "--format", "json", "--epochs", "90").stdout)
        self.assertIsNone(whole["cost"]["price_per_hour"])
        self.fails(2, "whole number", "report", "--epochs", "0", self.recording)


class Explain(Base):
    def test_a_page(self):
        got = call("explain", "transform.too_few_workers")
        self.assertEqual(got.returncode, 0)
        self.assertGreater(got.stdout.count(b"\n"), 3)

    def test_none_lists_every_id(self):
        got = call("explain")
        self.assertEqual(got.returncode, 0)
        self.assertIn(b"transform.too_few_workers\n", got.stdout)

    def test_every_listed_id_has_a_page(self):
        for name in call("explain").stdout.split():
            self.assertEqual(call("explain", name.decode()).returncode, 0, name)

    def test_a_slip_is_put_right(self):
        for word in "transform.too_few_worker", "too_few_workers", "transfrom.too_few_workers", "to_few_workrs":
            text = self.fails(2, "did you mean 'transform.too_few_workers'", "explain", word, lines=0)
            self.assertIn("extract.small_files", text)

    def test_an_unknown_word_lists_what_there_is(self):
        self.fails(2, "no finding is named 'zebra'", "explain", "zebra", lines=0)

    def test_a_finding_and_a_rule_are_two_questions(self):
        self.fails(2, "not both", "explain", "load.ipc", "--rule", "torch.collate")
        self.fails(2, "not both", "explain", "load.ipc", "--rules")


class Killed(unittest.TestCase):
    def test_a_doctor_that_is_killed_leaves_nothing_behind(self):
        for _ in range(5):
            with subprocess.Popen([STALLPROF, "doctor"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as doctor:
                children = f"/proc/{doctor.pid}/task/{doctor.pid}/children"
                while doctor.poll() is None:
                    with open(children, encoding="utf-8") as listed:
                        if listed.read().strip():
                            break
                doctor.kill()
                # What is left of it would hold the pipe open.
                self.assertTrue(select.select([doctor.stdout], [], [], 20)[0])
                while os.read(doctor.stdout.fileno(), 65536):
                    self.assertTrue(select.select([doctor.stdout], [], [], 20)[0])


class Help(unittest.TestCase):
    def test_every_verb_has_help_on_stdout(self):
        for verb in ("run", "report", "compare", "gate", "export", "explain", "top", "doctor",
                     "completion"):
            with self.subTest(verb):
                got = call(verb, "--help")
                self.assertEqual((got.returncode, got.stderr), (0, b""))
                self.assertIn(verb.encode(), got.stdout)

    def test_an_unknown_verb(self):
        got = call("frobnicate")
        self.assertEqual((got.returncode, got.stdout), (2, b""))
        self.assertIn(b"is not a command", got.stderr)


if __name__ == "__main__":
    unittest.main()
