#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Code that a program makes at run time has the names that its maker wrote for profilers, in a
recording that needs their files no more."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

STALLPROF = os.environ["STALLPROF"]
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "jit_program.py")
CPU_SECONDS = "1.5"
# A mount and pid namespace with a /tmp of its own, as in a container.
CONTAINED = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c",
             'mount -t tmpfs none /tmp && exec "$@"', "sh"]


class Jit(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="stallprof-jit-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def report(self, *command):
        recording = os.path.join(self.dir, "r.stallprof")
        done = subprocess.run([STALLPROF, "run", "--report", "none", "-o", recording, "--", *command],
                              cwd=self.dir, timeout=120, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(subprocess.run([STALLPROF, "report", "--format", "json", recording], check=True,
                                           timeout=120, stdout=subprocess.PIPE).stdout)
        states = {s["name"]: s for s in report["coverage"]["sources"]}
        if states["native_samples"]["state"] == "absent":
            self.skipTest("native samples are refused here: " + states["native_samples"]["why"])
        return report

    def functions(self, *command, share=0.5):
        """Library, name and class of what more than `share` of the CPU samples are in."""
        return [(f["library"], f["function"], f["class"]) for f in self.report(*command)["native"]["functions"]
                if f["ratio"] > share]

    def test_names_of_a_perf_map(self):
        self.assertEqual(self.functions(sys.executable, PROGRAM, "map", CPU_SECONDS),
                         [("[jit]", "jit_made_by_map", "jit")])

    def test_names_of_a_jitdump(self):
        self.assertEqual(self.functions(sys.executable, PROGRAM, "dump", CPU_SECONDS),
                         [("[jit]", "jit_made_by_dump", "jit")])

    def test_without_names_it_is_one_library(self):
        library, name, kind = self.functions(sys.executable, PROGRAM, "none", CPU_SECONDS)[0]
        self.assertEqual((library, kind), ("anon", "jit"))
        self.assertFalse(name)

    def test_names_of_a_perf_map_in_namespaces_of_its_own(self):
        probe = subprocess.run([*CONTAINED, "true"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if probe.returncode != 0:
            self.skipTest("no namespaces here: " + probe.stdout.decode(errors="replace").strip())
        with open(PROGRAM) as program:
            text = program.read()
        self.assertEqual(self.functions(*CONTAINED, sys.executable, "-c", text, "map", CPU_SECONDS),
                         [("[jit]", "jit_made_by_map", "jit")])

    def test_names_of_onednn(self):
        """Convolutions of PyTorch on a CPU are code that oneDNN makes at run time."""
        python = "/usr/bin/python3"
        if subprocess.run([python, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("no torch here")
        text = ("import time, torch; torch.set_num_threads(1); x = torch.randn(1, 256, 32, 32)\n"
                "layer, end = torch.nn.Conv2d(256, 16, 3).eval(), time.process_time() + 3\n"
                "with torch.no_grad():\n"
                "  while time.process_time() < end: layer(x)")
        self.addCleanup(os.environ.pop, "ONEDNN_JIT_PROFILE", None)
        self.addCleanup(os.environ.pop, "JITDUMPDIR", None)
        os.environ.update(ONEDNN_JIT_PROFILE="4", JITDUMPDIR=self.dir)  # a jitdump
        # Beside the start of PyTorch, which takes as long.
        named = [name for library, name, _ in self.functions(python, "-c", text, share=0.1) if library == "[jit]"]
        self.assertTrue(any("conv" in name for name in named), named)

    def test_barriers_in_onednns_code_are_spin_loops(self):
        """Two threads on one CPU wait for each other in code that has no symbols, half of the time."""
        python = "/usr/bin/python3"
        if subprocess.run([python, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("no torch here")
        with open("/proc/cpuinfo") as cpus:
            if " avx512f " not in cpus.read():
                self.skipTest("no AVX-512: oneDNN leaves waiting to OpenMP")
        program = os.path.join(self.dir, "train.py")
        with open(program, "w") as file:
            file.write("import torch\n"
                       "torch.set_num_threads(2)\n"
                       "model = torch.nn.Sequential(*[torch.nn.Conv2d(16, 16, 3, padding=1) for _ in range(6)])\n"
                       "optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)\n"
                       "inputs = torch.randn(8, 16, 32, 32)\n"
                       "for _ in range(150):\n"
                       "    optimizer.zero_grad()\n"
                       "    model(inputs).mean().backward()\n"
                       "    optimizer.step()\n")
        cpu = str(min(os.sched_getaffinity(0)))
        report = self.report("taskset", "-c", cpu, python, program)
        spins = [f for f in report["native"]["functions"] if (f["library"], f["function"]) == ("[jit]", "[spin loop]")]
        self.assertEqual([f["class"] for f in spins], ["spin"], report["native"])
        found = {f["id"]: f for f in report["findings"]}
        self.assertIn("compute.oversubscribed", found, report["native"])
        advice = found["compute.oversubscribed"]["advice"][0]
        self.assertEqual(advice["change"], {"kind": "code", "name": "torch.set_num_threads", "from": "2", "to": "1"})
        self.assertEqual(found["compute.oversubscribed"]["where"]["line"], 2)


if __name__ == "__main__":
    unittest.main()
