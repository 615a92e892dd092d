# SPDX-License-Identifier: MIT
"""`run --set`, `--threads`, `--env` on whole commands: what the command gets, what the report says, and that
nothing which cannot be applied is left out in silence."""
import json
import os
import subprocess
import unittest

from harness import STALLPROF, Case, main

TRAIN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "hook", "train.py")
PYTHON = os.environ.get("STALLPROF_TORCH_PYTHON", "/usr/bin/python3")
TORCH = subprocess.run([PYTHON, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode == 0
VARIABLES = "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OPENCV_FOR_THREADS_NUM"


class Overrides(Case):
    def run_with(self, options, *command, **how):
        words, recording = self.words(*command, options=options)
        return self.run_words(words, **how), recording

    def refused(self, options, *command, part, **how):
        """A failure of ours, with one line that says why; the command did nothing."""
        done, recording = self.run_with(options, *command, **how)
        said = done.stderr.decode()
        self.assertEqual(done.returncode, 125, said)
        self.assertIn(part, said)
        return said, recording

    def test_the_command_is_found_by_the_path_that_it_is_given(self):
        os.mkdir(self.path("bin"))
        with open(self.path("bin/stallprof-only-there"), "w") as file:
            file.write("#!/bin/sh\nexit 7\n")
        os.chmod(self.path("bin/stallprof-only-there"), 0o755)
        words = ["run", "--report", "none", "--env", "PATH=%s:/bin" % self.path("bin"), "stallprof-only-there"]
        self.assertEqual(subprocess.run([STALLPROF, *words], cwd=self.dir, stderr=subprocess.DEVNULL).returncode, 7)

    def test_words_that_are_none_are_usage_errors(self):
        for options, part in ((("--set", "threads=2"), "num_workers, prefetch_factor"),
                              (("--set", "num_workers=many"), "whole number"),
                              (("--set", "pin_memory=2"), "true or false"),
                              (("--env", "NAME"), "NAME=VALUE"), (("--threads", "0"), "--threads"),
                              (("--allocator", "malloc"), "jemalloc, tcmalloc"),
                              (("--allocator", "./none.so"), "cannot read the library"),
                              (("--loader", "a.py:3"), "--loader needs"),
                              (("--set", "num_workers=2", "--no-python"), "need the hook"),
                              (("--for", "1", "--no-python"), "need the hook")):
            said, recording = self.refused(options, "touch", self.path("ran"), part=part)
            self.assertFalse(os.path.exists(recording) or os.path.exists(self.path("ran")), said)

    def test_variables_and_threads_are_the_commands(self):
        code = "import json, os; print(json.dumps(dict(os.environ)))"
        done, recording = self.run_with(("--threads", "3", "--env", "COLOUR=a=b", "--env", "API_TOKEN=hunter2",
                                         "--allocator", "keep"), PYTHON, "-c", code)
        self.assertEqual(done.returncode, 0, done.stderr)
        got = json.loads(done.stdout)
        self.assertEqual([got[name] for name in VARIABLES], ["3"] * 4)
        self.assertEqual((got["COLOUR"], got["API_TOKEN"]), ("a=b", "hunter2"))
        kept = got["GLIBC_TUNABLES"]
        self.assertRegex(kept, "trim_threshold=[0-9]+$")
        with open(os.path.join(recording, "manifest.json")) as file:
            manifest = json.load(file)
        self.assertEqual(manifest["overrides"], ["--threads", "3", "--env", "COLOUR=a=b", "--env", "API_TOKEN=***",
                                                 "--env", "GLIBC_TUNABLES=" + kept])

    def test_without_an_option_the_command_gets_none_of_it(self):
        code = "import json, os; print(json.dumps(dict(os.environ)))"
        done, _ = self.run_with((), PYTHON, "-c", code,
                                env=dict(os.environ, STALLPROF_OVERRIDES="num_workers=2"))
        self.assertNotIn("STALLPROF_OVERRIDES", json.loads(done.stdout))

    def test_a_command_that_makes_no_loader_fails_in_the_end(self):
        self.refused(("--set", "num_workers=2"), "true", part="it made nothing that takes num_workers")
        done, _ = self.run_with(("--set", "num_workers=2"), "sh", "-c", "exit 7")
        self.assertEqual(done.returncode, 7)

    def test_nothing_starts_where_it_cannot_be_recorded(self):
        marker = self.path("ran")
        for environment in ({"STALLPROF_DISABLE": "1"},):
            self.refused(("--set", "num_workers=2"), "touch", marker, part="nothing was started",
                         env=dict(os.environ, **environment))
        inner = [STALLPROF, "run", "--env", "A=1", "--", "touch", marker]
        self.refused((), *inner, part="inside another stallprof run")
        self.assertFalse(os.path.exists(marker))

    @unittest.skipUnless(TORCH, "no torch for " + PYTHON)
    def test_the_report_says_what_was_changed(self):
        done, recording = self.run_with(("--set", "num_workers=2", "--loader", "train.py:62"), PYTHON, TRAIN,
                                        "--epochs", "4")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(subprocess.check_output([STALLPROF, "report", "--format", "json", recording]))
        self.assertEqual(report["run"]["overrides"], ["--set", "num_workers=2", "--loader", "train.py:62"])
        self.assertEqual(report["run"]["settings"], [{"name": "num_workers", "from": "0", "to": "2",
                                                      "where": {"file": TRAIN, "line": 62}}])
        self.assertEqual(report["run"]["loaders"][0]["num_workers"], 2)
        text = subprocess.check_output([STALLPROF, "report", recording]).decode()
        self.assertIn("num_workers 0 -> 2 at train.py:62", " ".join(text.split()))
        self.assertIn("its own seed", " ".join(text.split()))


if __name__ == "__main__":
    main()
