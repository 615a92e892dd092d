#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The configuration: read where it should be, weaker than the command line, and strict."""
import os
import shutil
import subprocess
import tempfile
import unittest

STALLPROF = os.environ["STALLPROF"]


class Config(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.mkdtemp(prefix="stallprof-config-")
        cls.recording = os.path.join(cls.shared, "r.stallprof")
        subprocess.run([STALLPROF, "run", "--report", "none", "-o", cls.recording, "--", "true"],
                       check=True, stderr=subprocess.DEVNULL, timeout=60, cwd=cls.shared)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.shared)

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="stallprof-config-")
        self.addCleanup(shutil.rmtree, self.dir)

    def write(self, name, text):
        path = os.path.join(self.dir, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)

    def call(self, *words, **environment):
        unset = ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "STALLPROF_CONFIG")
        full = {k: v for k, v in os.environ.items() if k not in unset}
        full.update(HOME=self.dir, XDG_CONFIG_HOME=os.path.join(self.dir, "xdg"))
        full.update(environment)
        return subprocess.run([STALLPROF, *words], cwd=self.dir, env=full, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True, timeout=60)

    def coloured(self, *words, **environment):
        done = self.call("report", self.recording, *words, **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return "\x1b[" in done.stdout

    def fails(self, pattern, *words, status=2):
        done = self.call(*words)
        self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertRegex(done.stderr, pattern)


class Reading(Config):
    @unittest.skipIf(os.geteuid() != 0, "only root gives a file to another user")
    def test_in_a_directory_of_everybody_a_file_of_another_user_is_refused(self):
        self.write("stallprof.toml", '[report]\ncolor = "always"\n')
        os.chown(os.path.join(self.dir, "stallprof.toml"), 65534, 65534)
        self.assertTrue(self.coloured())
        os.chmod(self.dir, 0o1777)
        self.fails("stallprof.toml in this directory belongs to another user.*STALLPROF_CONFIG=none", "report", self.recording)
        self.assertFalse(self.coloured(STALLPROF_CONFIG="none"))
        os.remove(os.path.join(self.dir, "stallprof.toml"))
        for text in '[tool.black]\nline-length = 99\n', '[tool.stallprof.report]\ncolor = "always"\n':
            self.write("pyproject.toml", text)
            os.chown(os.path.join(self.dir, "pyproject.toml"), 65534, 65534)
            if "stallprof" in text:
                self.fails("belongs to another user", "report", self.recording)
            else:   # nothing of it is read
                self.assertFalse(self.coloured())

    def test_the_command_line_wins(self):
        self.assertFalse(self.coloured())
        self.write("stallprof.toml", '[report]\ncolor = "always"\n')
        self.assertTrue(self.coloured())
        self.assertFalse(self.coloured("--color", "never"))

    def test_the_project_wins_over_the_user_and_a_named_file_over_both(self):
        self.write("xdg/stallprof/config.toml", '[report]\ncolor = "always"\n')
        self.assertTrue(self.coloured())
        self.write("stallprof.toml", '[report]\ncolor = "never"\n')
        self.assertFalse(self.coloured())
        self.write("other.toml", '[report]\ncolor = "always"\n')
        self.assertTrue(self.coloured(STALLPROF_CONFIG="other.toml"))
        os.remove(os.path.join(self.dir, "stallprof.toml"))
        self.assertFalse(self.coloured(STALLPROF_CONFIG="none"))

    def test_the_users_file_is_below_home_where_xdg_says_nothing(self):
        self.write(".config/stallprof/config.toml", '[report]\ncolor = "always"\n')
        self.assertTrue(self.coloured(XDG_CONFIG_HOME=""))

    def test_pyproject_has_our_tables_among_others(self):
        self.write("pyproject.toml", '[project]\nname = "x"\n[[nothing.of.ours]]\n'
                   'odd = [\n[1],\n]\n[tool.stallprof.report]\ncolor = "always"\n'
                   '[tool.other]\ncolor = 7\n')
        self.assertTrue(self.coloured())
        for text in ('[tool.stallprof.report]\ncolor = "always"\n  [tool.black]\nline = 99\n', '[tool."stallprof".report]\ncolor = "always"\n',
                     '[ tool.stallprof.report ]\ncolor = "always"\n', '[tool.stallprof]\nreport.color = "always"\n',
                     '[tool]\nother = [\n["a", "b"],\n]\nstallprof.report.color = "always"\n'):
            self.write("pyproject.toml", text)
            self.assertTrue(self.coloured(), text)
            os.makedirs(os.path.join(self.dir, "sub"), exist_ok=True)
            self.write("sub/pyproject.toml", text)
            self.write("pyproject.toml", "")
            self.assertTrue(self.coloured(STALLPROF_CONFIG="sub/pyproject.toml"), text)
        for text in ('[tool.x]\ntext = """\n[tool.stallprof.report]\ncolor = "always"\n"""\n', 'not = toml = "stallprof"\n'):
            self.write("pyproject.toml", text)
            self.assertFalse(self.coloured(), text)
        self.write("pyproject.toml", '[project]\nname = "x"\n\n[tool.stallprof.report]\nx = 1\n')
        self.fails(r"pyproject\.toml:5: 'x' is not an option of stallprof report", "report",
                   self.recording)

    def test_a_run_takes_its_options_from_it(self):
        self.write("stallprof.toml", '[run]\nname = "runs/%s.x"\nreport = ["none"]\nhz = 10\n'
                   'budget = 0.5\nno-python = true\n[report]\noutput = "elsewhere"\nformat = "json"\n')
        os.mkdir(os.path.join(self.dir, "runs"))
        for name in ("true.x.stallprof", "true.x.2.stallprof"):  # never overwritten
            done = self.call("run", "--", "true")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("runs/" + name, done.stderr)
            self.assertTrue(os.path.isdir(os.path.join(self.dir, "runs", name)))
        # Its own report is what `run` says, not what [report] says.
        done = self.call("run", "--report", "text", "-o", "own.stallprof", "--", "true")
        self.assertIn("No verdict", done.stderr)
        self.assertEqual(sorted(os.listdir(self.dir)), ["own.stallprof", "runs", "stallprof.toml"])


    def test_what_needs_another_option_waits_for_it(self):
        self.write("stallprof.toml", '[gate]\nmax-runs = 10\nkeep = "x"\nbase-dir = "y"\n[run]\ncount-from = "optimizer-step"\n'
                   'loader = "train.py:7"\n[verify]\nmax-runs = 4\n')
        done = self.call("run", "--report", "none", "-o", "plain.stallprof", "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("has no training steps", self.call("gate", "--baseline", "save", "d", "plain.stallprof").stderr)
        self.assertNotIn("max-runs", self.call("verify", "--runs", "6", "plain.stallprof").stderr)
        self.fails("needs --ab|need --ab", "gate", "--keep", "x", "a", "--", "b")
        self.assertEqual(self.call("run", "--loader", "a.py:1", "--", "true").returncode, 125)

    def test_what_says_nothing_of_this_call_is_left_aside(self):
        self.write("rules.toml", '[[rule]]\nid = "mine.read"\nphase = "extract"\nmodules = ["mine.py"]\n')
        self.write("stallprof.toml", '[export]\nby = "role"\n[explain]\nrules = "rules.toml"\n')
        done = self.call("export", "-f", "chrome", self.recording)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.fails("--by has no effect with -f chrome", "export", "-f", "chrome", "--by", "role", self.recording)
        self.assertTrue(self.call("explain", "load.ipc").stdout.startswith("load.ipc"))
        self.assertIn("mine.read", self.call("explain").stdout)

    def test_an_option_that_may_take_a_value_takes_true_or_the_value(self):
        for value, said in (("true", "gpu on, gpu windows off"), ('"windows"', "gpu off, gpu windows on"), ("false", "gpu off, gpu windows off")):
            self.write("stallprof.toml", f'[run]\ngpu = {value}\n')
            done = self.call("run", "--report", "none", "-o", value.strip('"') + ".stallprof", "--", "true")
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(os.path.join(self.dir, value.strip('"') + ".stallprof", "log")) as log:
                self.assertIn(said, log.read())
        self.write("stallprof.toml", '[run]\ngpu = "always"\n')
        self.fails("--gpu takes nothing, whole or windows, not 'always'", "run", "--", "true", status=125)
        self.write("stallprof.toml", '[run]\nhz = 1.5\n')
        self.fails("--hz takes a whole number from 1 to 1000, not '1.5'", "run", "--", "true", status=125)


class Strictness(Config):
    def test_what_nobody_knows_is_an_error_with_its_line(self):
        for text, pattern in (
                ('[report]\ncolour = "never"\n',
                 r"stallprof\.toml:2: 'colour' is not an option of stallprof report; did you mean 'color'"),
                ('[reprot]\ncolor = "never"\n', r"stallprof\.toml:1: .*did you mean 'report'"),
                ('color = "never"\n', r"stallprof\.toml:1: 'color' is not a table"),
                ("[report]\nrecording = 'x'\n", r":2: 'recording' is not an option"),
                ("[report]\ncolor = \n", r"stallprof\.toml:2: "),
                ("[]\n", r"stallprof\.toml:1: "),
                ("[run]\nno-python = 1\n", r":2: no-python takes true or false"),
                ("[run]\nhz = [1, 2]\n", r":2: hz takes one value"),
                ("[run]\nhz = true\n", r":2: hz takes a string or a number"),
                ('[report]\ncolor = "green"\n', r"stallprof\.toml: \[report\] .*green"),
                ('[gate]\nformat = "pdf"\nx = 1\n', r":3: 'x' is not an option of stallprof gate")):
            with self.subTest(text):
                self.write("stallprof.toml", text)
                self.fails(pattern, "report", self.recording)

    def test_a_command_is_not_started_with_a_wrong_configuration(self):
        self.write("stallprof.toml", "[run]\nhertz = 10\n")
        self.fails(r"stallprof\.toml:2: 'hertz'", "run", "--", "touch", "started", status=125)
        self.assertEqual(os.listdir(self.dir), ["stallprof.toml"])

    def test_help_is_there_whatever_the_configuration_says(self):
        self.write("stallprof.toml", "[nonsense]\n")
        for words in (["--help"], ["report", "--help"], ["run", "--help"]):
            self.assertEqual(self.call(*words).returncode, 0)

    def test_hostile_words_reach_the_terminal_escaped(self):
        self.write("stallprof.toml", '[report]\n"\\u001b[2J" = 1\n')
        done = self.call("report", self.recording)
        self.assertEqual(done.returncode, 2)
        self.assertNotIn("\x1b", done.stderr)

    def test_a_wrong_pattern_for_a_name_is_refused(self):
        self.fails("--name takes", "run", "--name", "%z", "--", "true", status=125)


if __name__ == "__main__":
    unittest.main()
