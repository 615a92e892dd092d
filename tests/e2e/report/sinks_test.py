#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hostile names through every sink of the program: one recording whose every name holds control
bytes, escapes, bidirectional controls, markup and quotes, given to every verb that prints or writes
of it. No raw control byte leaves, nothing becomes markup or a second line of a format, every
format is still read by its own parser, and `check_trace` finds nothing wrong."""
import csv
import fcntl
import io
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import tempfile
import termios
import unittest
import xml.etree.ElementTree as ElementTree

import html_test

STALLPROF = html_test.STALLPROF
MAKE = os.environ["MAKE_RECORDING"]
CHECK_TRACE = os.environ["CHECK_TRACE"]
CONTROL = html_test.CONTROL
# As a file may be called: at most 255 bytes, no slash; no colon, which ends a path in PYTHONPATH.
FILE_NAME = (b"\x1b[2J<b>\xe2\x80\xae\"'&\x07\x7f\xc3\xa9" +
             html_test.HOSTILE[-150:].replace(b"/", b"|"))
RAW = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")  # any encoding's control bytes but tab and newline


class Sinks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        html_test.Hostile.setUpClass()
        cls.dir = html_test.Hostile.dir
        cls.recording = os.path.join(cls.dir, "hostile.stallprof")
        subprocess.run([MAKE, html_test.Hostile.trace, cls.recording], check=True)
        cls.name = html_test.HOSTILE.replace(b"\x00", b"").decode("utf-8", "surrogateescape")

    @classmethod
    def tearDownClass(cls):
        html_test.Hostile.tearDownClass()

    def path(self, name):
        return os.path.join(self.dir, name)

    def test_stacks_of_a_page_have_the_colours_of_the_users_rules(self):
        with open(os.path.join(html_test.GOLDEN, "too_few_workers", "trace.txt"), encoding="ascii") as trace:
            text = trace.read()
        with open(self.path("own.txt"), "w", encoding="ascii") as out:
            out.write(text + '\n4s stack stack=1 function="rows" file="train.py" line=7\n'
                      '5s stack_slice thread=1 duration=1s stack=1 samples=100\n')
        with open(self.path("own.toml"), "w", encoding="ascii") as out:
            out.write('library = "x"\nsource = "x"\n[[rule]]\nid = "mine.rows"\nphase = "sync"\n'
                      'modules = ["train.py"]\nnote = "x"\n')
        subprocess.run([MAKE, self.path("own.txt"), self.path("own.stallprof")], check=True)
        for rules, colour in ((), "compute"), (("--rules", "own.toml"), "sync"):
            page = self.say("report", "--format", "html", *rules, "own.stallprof")
            self.assertRegex(page, r'class="b %s[^"]*"[^>]*title="rows ' % colour)

    def say(self, *words, status=0, program=STALLPROF):
        """What a verb printed, which holds no control byte."""
        return self.ask(*words, status=status, program=program)[0]

    def ask(self, *words, status=0, program=STALLPROF):
        """The same, and what it said on stderr."""
        done = subprocess.run([program, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=120, cwd=self.dir,
                              env={**os.environ, "STALLPROF_CONFIG": "none"})
        self.assertEqual(done.returncode, status, done)
        for text in (done.stdout, done.stderr):
            self.clean(text, words)
        return done.stdout.decode(), done.stderr.decode()

    def clean(self, data, what):
        self.assertIsNone(RAW.search(data), what)
        self.assertIsNone(CONTROL.search(data.decode("utf-8")), what)

    def written(self, name):
        with open(self.path(name), "rb") as file:
            data = file.read()
        if name.endswith(".csv"):
            data = data.replace(b"\r\n", b"\n")  # RFC 4180's end of a line
        self.clean(data, name)
        return data.decode("utf-8")

    def export(self, form, name, *words):
        self.say("export", "-f", form, *words, "-o", self.path(name), self.recording)
        return name

    def test_reports(self):
        for form in ("text", "json"):
            self.say("report", self.recording, "--format", form)
        self.assertNotIn("<script", self.say("report", self.recording, "--format", "html"))
        self.assertNotIn("<script", html_test.outside_code(
            self.say("report", self.recording, "--format", "md")))

    def test_timelines_are_read_and_checked(self):
        for detail in ("bounded", "full"):
            chrome = self.export("chrome", f"chrome-{detail}.json", "--detail", detail)
            events = json.loads(self.written(chrome))["traceEvents"]
            self.assertGreater(len(events), 10)
            self.say(self.path(chrome), program=CHECK_TRACE)
            perfetto = self.export("perfetto", f"{detail}.pftrace", "--detail", detail)
            self.say(self.path(perfetto), program=CHECK_TRACE)
            with open(self.path(perfetto), "rb") as file:  # binary: its strings are what counts
                data = file.read()
            for raw in (b"\x1b]0;", b"\x1b[2J", b"\xe2\x80\xae", b"\xe2\x80\x8b", b"\xe2\x80\xa8"):
                self.assertNotIn(raw, data)
        self.export("hta", "traces")
        for name in os.listdir(self.path("traces")):
            json.loads(self.written("traces/" + name))
            self.say(self.path("traces/" + name), program=CHECK_TRACE)

    def test_stacks(self):
        for by in ("phase", "role", "process", "none"):
            for line in self.written(self.export("folded", "folded-" + by, "--by", by)).splitlines():
                self.assertRegex(line, r"^[^\n]+ \d+$")
            name = self.export("speedscope", f"{by}.speedscope.json", "--by", by)
            json.loads(self.written(name))
            self.say(self.path(name), program=CHECK_TRACE)

    def test_tables(self):
        for table in ("steps", "findings"):
            rows = list(csv.reader(io.StringIO(self.written(
                self.export("csv", table + ".csv", "--table", table)))))
            self.assertEqual({len(row) for row in rows}, {len(rows[0])})
            for row in rows:  # nothing that a spreadsheet takes for a formula
                for cell in row:
                    self.assertFalse(re.match(r"[=@\t]|[+-][^\d]", cell), cell)

    def test_metrics(self):
        text = self.written(self.export("openmetrics", "metrics"))
        self.assertTrue(text.endswith("# EOF\n"))
        for line in text.splitlines():
            self.assertRegex(line, r'^(# (TYPE|UNIT|HELP|EOF).*|[a-z_0-9:]+(\{([a-z_]+="([^"\\]|\\.)*",?)*\})? '
                                   r'[-+0-9.eE]+( [0-9.]+)?)$')

    def test_comparison_and_gate(self):
        for name in ("base", "head"):
            self.say("report", self.recording, "--format", "json", "-o", self.path(name + ".json"))
        with open(self.path("head.json"), encoding="utf-8") as file:
            head = json.load(file)
        head["run"]["wall_ns"] += 1   # another run
        with open(self.path("head.json"), "w", encoding="utf-8") as file:
            json.dump(head, file)
        runs = [self.path("base.json"), "--", self.path("head.json")]
        self.say("compare", *runs)
        forms = ("text", "json", "junit", "sarif", "markdown", "github", "gitlab")
        for form in forms:
            self.say("gate", *[w for f in forms for w in ("--report", f"{f}={self.path(form + '-' + f)}")],
                     "--format", form, *runs)
            for f in forms:
                text = self.written(form + "-" + f)
                if f in ("json", "sarif", "gitlab"):
                    json.loads(text)
                if f == "junit":
                    ElementTree.fromstring(text)
                if f == "markdown":
                    self.assertNotIn("<script", html_test.outside_code(text))
        self.say("gate", "--baseline", "save", self.path("kept"), *runs[::2])

    def test_where_it_is_installed_and_what_doctor_says_of_it(self):
        """Under a hostile prefix: where the hook is found is reported, and is in the job's environment."""
        home = os.path.join(self.dir.encode(), FILE_NAME)
        os.makedirs(os.path.join(home, b"bin"))
        program = os.path.join(home, b"bin", b"stallprof")
        try:
            os.link(STALLPROF, program)
        except OSError:  # another file system
            shutil.copy(STALLPROF, program)
        shutil.copytree(os.path.join(os.path.dirname(STALLPROF), "../lib/stallprof").encode(),
                        os.path.join(home, b"lib", b"stallprof"))
        said = self.say("doctor", program=program)
        self.assertIn("owned", said)  # the path is there, and harmless
        self.say("run", "--report", "none", "-o", "installed.stallprof", "--", "true", program=program)
        self.say("report", "installed.stallprof", program=program)

    def test_lines_while_it_runs(self):
        name = FILE_NAME + b".stallprof"
        _, said = self.ask("run", "--report", "none", "--progress", "1", "-o", name, "--", "sleep", "1.5")
        self.assertIn("owned", said)
        self.say("top", "--once", name)

    def test_top_on_a_terminal(self):
        os.rename(self.recording, os.path.join(self.dir.encode(), FILE_NAME))
        self.addCleanup(os.rename, os.path.join(self.dir.encode(), FILE_NAME), self.recording)
        for columns in (40, 41, 200):
            master, slave = pty.openpty()
            fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
            top = subprocess.Popen([STALLPROF, "top", FILE_NAME], stdin=subprocess.DEVNULL, stdout=slave,
                                   stderr=slave, cwd=self.dir, env={**os.environ, "TERM": "xterm"})
            os.close(slave)
            shown = b""
            try:
                while block := os.read(master, 65536):
                    shown += block
            except OSError:  # EIO: it is over
                pass
            os.close(master)
            self.assertEqual(top.wait(60), 0)
            self.assertIn(b"TOP STALL", shown)
            ours = re.compile(rb"\x1b\[(\?1049[hl]|\?25[hl]|[HJK])|\r+\n")
            self.clean(ours.sub(b"\n", shown), columns)

    def test_files_that_hold_commands(self):
        """Rules and policies may come with the code that is to be judged."""
        toml = json.dumps(self.name, ensure_ascii=True).replace("\\udc", "\\u00").replace("\x7f", "\\u007f")
        for name, text in (("rules.toml", f'library = {toml}\nsource = {toml}\n[[rule]]\nid = "a.b"\n'
                            f'phase = "transform"\nmodules = [{toml}]\nfunctions = [{toml}]\nnote = {toml}\n'),
                           ("id.toml", f'library = "x"\nsource = "x"\n[[rule]]\nid = {toml}\n'
                            'phase = "transform"\nmodules = ["x"]\nnote = "x"\n'),
                           ("bad.toml", f"{toml} = 1\n"),
                           ("metric.toml", f'schema = "stallprof.gate/1"\n[[metric]]\nname = {toml}\nmax = 1\n'),
                           ("key.toml", f'schema = "stallprof.gate/1"\n{toml} = 1\n')):
            with open(self.path(name), "w", encoding="ascii") as file:
                file.write(text)
        self.say("explain", "--rules", "rules.toml")
        self.say("explain", "--rules", "rules.toml", "--rule", "a.b")
        self.say("explain", "--rules", "id.toml", status=2)
        self.say("explain", "--rules", "bad.toml", status=2)
        self.say("report", self.recording, "--format", "json", "-o", self.path("one.json"), "--force")
        for policy in ("metric.toml", "key.toml"):
            self.say("gate", "-c", policy, self.path("one.json"), "--", self.path("one.json"), status=2)
        self.say("gate", "--ab", "1", "./" + self.name, "--", "true", status=2)

    def test_names_on_the_command_line(self):
        for words, status in ((["explain", self.name], 2), (["explain", "--rule", self.name], 2),
                              (["report", self.name], 1), (["export", "-f", self.name, "x"], 2),
                              (["top", self.name], 1),
                              (["compare", self.name, "--", self.name], 1),
                              (["gate", self.name, "--", self.name], 2),
                              (["import", self.name, "-o", self.path("i.stallprof")], 1),
                              (["attach", "-p", self.name], 2), (["completion", self.name], 2),
                              ([self.name], 2), (["run", "--hz", self.name, "--", "true"], 125),
                              (["run", "-o", self.path("n.stallprof"), "--", "./" + self.name], 127)):
            with self.subTest(words[0]):
                self.say(*words, status=status)

    def test_a_trace_from_elsewhere(self):
        name = self.name.encode("utf-8", "surrogateescape").decode("latin-1")
        step = [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 7, "tid": 7,
                 "ts": i * 1000, "dur": 1000} for i in range(30)]
        work = [{"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": i * 1000 + 100,
                 "dur": 500, "args": {"device": 0, "stream": 7, "correlation": i}} for i in range(30)]
        meta = [{"ph": "M", "name": "process_name", "pid": 7, "tid": 0, "args": {"name": name}}]
        with open(self.path("hostile.pt.trace.json"), "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": name}],
                       "distributedInfo": {"backend": name, "rank": 0, "world_size": 1},
                       "traceEvents": meta + step + work}, file)
        recording = self.path("imported.stallprof")
        self.say("import", self.path("hostile.pt.trace.json"), "-o", recording)
        for form in ("text", "md", "html", "json"):
            self.say("report", recording, "--format", form)
        self.say("export", "-f", "chrome", "-o", self.path("again.json"), recording)
        self.say(self.path("again.json"), program=CHECK_TRACE)
        self.say("top", recording)

    def test_a_file_to_be_checked(self):
        with open(self.path("bad.json"), "w", encoding="utf-8") as file:
            json.dump({"traceEvents": [{"ph": self.name[:40], "name": self.name, "cat": self.name,
                                        "pid": 1, "tid": 1, "ts": 1, "dur": 5},
                                       {"ph": "E", "name": self.name, "pid": 1, "tid": 1, "ts": 0}]},
                      file)
        self.say(self.path("bad.json"), program=CHECK_TRACE, status=1)


if __name__ == "__main__":
    unittest.main()
