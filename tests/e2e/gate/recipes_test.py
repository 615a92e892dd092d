#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The recipes of the guide's page on the gate, run as they are printed: a repository with a base branch
and a change, the shell of a CI job, real runs of a small command. A slower change fails the job."""
import json
import os
import re
import subprocess
import sys
import textwrap
import unittest

import reports

SOURCE = os.environ["SOURCE"]
PYTHON = os.environ.get("STALLPROF_TORCH_PYTHON", "/usr/bin/python3")
# The command is too small for steps, so its wall time is gated; far enough apart for any host.
POLICY = ('schema = "stallprof.gate/1"\n[[metric]]\nname = "run.wall_ns"\nmax_regression = "50%"\n')


def blocks(language):
    with open(os.path.join(SOURCE, "tools/stallprof/guide/gate.md"), encoding="utf-8") as file:
        text = file.read()
    return re.findall(r"^```%s\n(.*?)^```" % language, text, re.M | re.S)


def github_script(block):
    return textwrap.dedent(block[block.index("- run: |\n") + len("- run: |\n"):])


def gitlab_script(block):
    """The items of script:, one after the other; "- |" holds the lines below it."""
    body = block[block.index("  script:\n") + len("  script:\n"):block.index("  artifacts:")]
    items = re.split(r"^    - ", body, flags=re.M)[1:]
    return "\n".join(textwrap.dedent(item[2:]) if item.startswith("|\n") else item for item in items)


class Recipes(reports.Folder):
    def setUp(self):
        super().setUp()
        tools = os.path.join(self.dir, "tools")
        os.mkdir(tools)
        os.symlink(sys.executable, os.path.join(tools, "python"))
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
        self.env.update(PATH=os.pathsep.join([tools, os.path.dirname(reports.STALLPROF),
                                              os.environ["PATH"]]),
                        HOME=self.dir, GIT_AUTHOR_NAME="a", GIT_AUTHOR_EMAIL="a@b",
                        GIT_COMMITTER_NAME="a", GIT_COMMITTER_EMAIL="a@b", GITHUB_BASE_REF="main",
                        GITHUB_STEP_SUMMARY=os.path.join(self.dir, "summary.md"),
                        CI_MERGE_REQUEST_TARGET_BRANCH_NAME="main")
        self.work = os.path.join(self.dir, "work")

    def git(self, *words, cwd):
        subprocess.run(["git", *words], cwd=cwd, env=self.env, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def repository(self, seconds):
        """`main` sleeps a little, the checked-out change `seconds`."""
        origin = os.path.join(self.dir, "origin")
        self.write("origin/train.py", "import time\ntime.sleep(0.2)\n")
        self.write("origin/stallprof-gate.toml", POLICY)
        self.git("init", "-q", "-b", "main", cwd=origin)
        self.git("add", "-A", cwd=origin)
        self.git("commit", "-q", "-m", "base", cwd=origin)
        self.git("clone", "-q", origin, self.work, cwd=self.dir)
        self.write("work/train.py", f"import time\ntime.sleep({seconds})\n")
        self.git("checkout", "-q", "-b", "change", cwd=self.work)
        self.git("commit", "-q", "-a", "--allow-empty", "-m", "change", cwd=self.work)

    def job(self, script):
        return subprocess.run(["sh", "-e", "-c", script], cwd=self.work, env=self.env,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=120)

    def test_github_actions(self):
        self.repository(1.0)
        job = self.job(github_script(blocks("yaml")[0]))
        out = job.stdout.decode()
        self.assertEqual(job.returncode, 1, out)
        self.assertRegex(out, r"(?m)^::error file=stallprof-gate\.toml,line=3,title=gate/run\.wall_ns::")
        self.assertIn("FAIL", out)
        self.assertIn("### stallprof gate: regressed", self.read("summary.md"))
        self.assertEqual(len(json.loads(self.read("work/gate.sarif"))["runs"][0]["results"]), 1)

    def test_a_base_that_runs_the_heads_installed_code_is_refused(self):
        """As after `pip install -e .` of the head: both sides find the same package."""
        self.repository(0.2)
        self.write("work/src/mine.py", "from torch.utils.data import DataLoader\n"
                                       "for batch in DataLoader(list(range(40))): pass\n")
        for place in "work", "work/.base":
            self.write(place + "/train.py", "import mine\n")
        self.env["PYTHONPATH"] = os.path.join(self.work, "src")
        job = self.job("stallprof gate --ab 1 --base-dir .base -- %s train.py" % PYTHON)
        self.assertIn("src/mine.py', which is the head's", " ".join(job.stdout.decode().split()))
        self.assertEqual(job.returncode, 3)
        named = self.job("stallprof gate --ab 1 --base-dir .base -- %s $PWD/src/mine.py" % PYTHON)   # on purpose
        self.assertNotIn("which is the head's", named.stdout.decode())
        self.assertEqual(named.returncode, 0, named.stdout.decode())

    def test_gitlab(self):
        self.repository(0.2)
        job = self.job(gitlab_script(blocks("yaml")[1]))
        out = job.stdout.decode()
        self.assertEqual(job.returncode, 0, out)
        self.assertIn("PASS", out)
        self.assertIn("<testsuite ", self.read("work/gate.xml"))
        self.assertEqual([issue for issue in json.loads(self.read("work/gate.json"))
                          if issue["severity"] == "major"], [])

    def test_a_stored_base(self):
        os.mkdir(self.work)
        for i in range(5):
            self.report(f"work/main-{i}.json", 100 + i * 0.1)
            self.report(f"work/head-{i}.json", 110 + i * 0.1)
        script = blocks("sh")[0].replace(".stallprof", ".json")
        job = self.job(script)
        self.assertEqual(job.returncode, 1, job.stdout.decode())
        self.assertIn("5 runs kept in 'perf/base'", job.stdout.decode())

    def test_the_policy_is_one(self):
        self.write("stallprof-gate.toml", blocks("toml")[0])
        base = self.side("base", 100)
        self.assertIn("policy: stallprof-gate.toml", self.gate(base, self.side("same", 100), status=0))


if __name__ == "__main__":
    unittest.main()
