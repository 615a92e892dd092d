#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The install tree, run from its prefix; the wheel, unpacked as pip would."""
import base64
import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
import zipfile

from programs import run

BUILD, SOURCE = os.environ["BUILD"], os.environ["SOURCE"]
WITH_HOOK = os.environ["HOOK"] == "1"
VERBS = ("run", "report", "compare", "gate", "export", "explain", "doctor")


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="stallprof-install-")
        cls.prefix = os.path.join(cls.dir, "prefix")
        run(["cmake", "--install", BUILD, "--prefix", cls.prefix])

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    def path(self, *names):
        return os.path.join(self.prefix, *names)

    def stallprof(self, *words, **how):
        return run([self.path("bin", "stallprof"), *words], cwd=self.dir, **how)

    def test_everything_is_in_its_place(self):
        names = ["bin/stallprof", "bin/stallprof-dump", "lib/stallprof/libstallprof_agent.so",
                 "share/stallprof/report.schema.json", "share/man/man1/stallprof.1",
                 "share/bash-completion/completions/stallprof",
                 "share/zsh/site-functions/_stallprof",
                 "share/fish/vendor_completions.d/stallprof.fish", "share/doc/stallprof/copyright",
                 "share/doc/stallprof/LICENSE", "share/doc/stallprof/guide/run.md",
                 "share/man/man7/stallprof-guide-run.7", "include/stallprof/annotate.h"]
        names += ["share/man/man1/stallprof-%s.1" % verb for verb in VERBS]
        if WITH_HOOK:
            names += ["lib/stallprof/hook/sitecustomize.py",
                      "lib/stallprof/hook/stallprof_hook/_stallprof_events.abi3.so"]
        for name in names:
            self.assertTrue(os.path.isfile(self.path(name)), name)

    def test_nothing_can_be_written_by_others(self):
        for folder, folders, files in os.walk(self.prefix):
            for name in files:
                mode = os.stat(os.path.join(folder, name)).st_mode
                self.assertFalse(mode & stat.S_IWOTH, name)

    def test_it_runs_from_its_prefix_with_its_own_hook(self):
        said = self.stallprof("doctor").stdout
        if WITH_HOOK:
            self.assertIn("from " + self.path("lib", "stallprof", "hook"), said)
        self.stallprof("run", "--report", "none", "-o", "r.stallprof", "--", sys.executable, "-c",
                       "import sys; sys.exit(3)", status=3)
        report = json.loads(self.stallprof("report", "--format", "json", "r.stallprof").stdout)
        self.assertEqual(report["run"]["exit"]["code"], 3)
        states = {s["name"]: s["state"] for s in report["coverage"]["sources"]}
        if WITH_HOOK:
            self.assertNotEqual(states.get("hook"), "absent")


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="stallprof-wheel-")
        make = [sys.executable, os.path.join(SOURCE, "scripts", "package_wheel"), BUILD, cls.dir]
        cls.path = run([*make, "--local"]).stdout.strip()
        cls.strict = subprocess.run(make, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    universal_newlines=True, timeout=120)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    def test_the_record_is_of_what_is_in_it(self):
        with zipfile.ZipFile(self.path) as wheel:
            names = wheel.namelist()
            info = next(n for n in names if n.endswith(".dist-info/RECORD"))
            lines = wheel.read(info).decode().splitlines()
            self.assertEqual(sorted(line.split(",")[0] for line in lines), sorted(names))
            for line in lines:
                name, digest, size = line.split(",")
                if name == info:
                    continue
                content = wheel.read(name)
                want = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
                self.assertEqual((digest, size), ("sha256=" + want.decode(), str(len(content))))

    def test_its_programs_run_where_pip_puts_them(self):
        prefix = os.path.join(self.dir, "prefix")
        with zipfile.ZipFile(self.path) as wheel:
            for name in wheel.namelist():
                parts = name.split("/")
                if not parts[0].endswith(".data"):
                    continue
                place = ["bin"] if parts[1] == "scripts" else []
                target = os.path.join(prefix, *place, *parts[2:])
                os.makedirs(os.path.dirname(target), exist_ok=True)
                with open(target, "wb") as out:
                    out.write(wheel.read(name))
                os.chmod(target, wheel.getinfo(name).external_attr >> 16)
        said = run([os.path.join(prefix, "bin", "stallprof"), "doctor"]).stdout
        if WITH_HOOK:
            self.assertIn(os.path.join(prefix, "lib", "stallprof", "hook"), said)

    def test_a_build_for_this_host_alone_is_refused_as_portable(self):
        if self.strict.returncode == 0:
            self.assertIn("manylinux_2_34", self.strict.stdout)  # of the preset `package`
        else:
            self.assertIn("other hosts cannot run this build", self.strict.stderr)


if __name__ == "__main__":
    unittest.main()
