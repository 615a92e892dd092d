#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""export: each format of a recording, as other programs read it, and what stands in its way."""
import csv
import json
import os
import shutil
import subprocess
import tempfile
import unittest

STALLPROF = os.environ["STALLPROF"]
MAKE = os.environ["MAKE_RECORDING"]
GOLDEN = os.environ["GOLDEN"]
CHECK_TRACE = os.environ["CHECK_TRACE"]


def export(*words):
    return subprocess.run([STALLPROF, "export", *words], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)


# Another process that trains beside that of the golden.
SECOND_RANK = """
1s process process=5 pid=105 comm="python3"
1s thread thread=5 process=5 tid=105 name="python3"
1s framework process=5 name="torch" version="2.1.0" rank=1
1s loader process=5 loader=2 kind="torch.DataLoader" workers=0 batch_size=32
1s iterator thread=5 loader=2 epoch=1 duration=15ms cpu=5ms
repeat 180 every 80ms
1050ms fetch thread=5 loader=2 epoch=1 duration=60ms cpu=1ms batch=0+1*i
1112ms optimizer thread=5 duration=4ms optimizer=1
end
"""


class Export(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp()
        cls.recording = cls.make("too_few_workers")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    @classmethod
    def make(cls, golden, more=""):
        text = os.path.join(cls.dir, "trace.txt")
        with open(os.path.join(GOLDEN, golden, "trace.txt"), encoding="utf-8") as source:
            with open(text, "w", encoding="utf-8") as out:
                out.write(source.read().replace("clean_end\n", more + "clean_end\n"))
        recording = tempfile.mkdtemp(dir=cls.dir) + "/r.stallprof"
        subprocess.run([MAKE, text, recording], check=True)
        return recording

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, form, name, *words):
        done = export("-f", form, "-o", self.path(name), *words, self.recording)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, b"")
        return self.path(name)

    def accepted(self, path, form):
        done = subprocess.run([CHECK_TRACE, path], stdout=subprocess.PIPE, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertTrue(done.stdout.startswith(form.encode()), done.stdout)

    def refused(self, status, word, *words):
        done = export(*words)
        self.assertEqual(done.returncode, status, done)
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        self.assertIn(word.encode(), done.stderr)

    def test_timelines_pass_the_check(self):
        for form, said in (("chrome", "trace events"), ("perfetto", "perfetto")):
            for detail in ("bounded", "full"):
                self.accepted(self.write(form, f"{form}.{detail}", "--detail", detail), said)

    def test_a_trace_a_rank_in_a_directory_of_their_own(self):
        directory = self.write("hta", "traces")
        self.assertEqual(os.listdir(directory), ["rank0.pt.trace.json"])
        self.accepted(directory + "/rank0.pt.trace.json", "trace events")
        self.refused(1, "rank0.pt.trace.json", "-f", "hta", "-o", directory, self.recording)
        second = self.make("too_few_workers", 'manifest env="RANK=1"\nmanifest env="WORLD_SIZE=2"\n')
        self.assertEqual(export("-f", "hta", "-o", directory, second).returncode, 0)
        with open(directory + "/rank1.pt.trace.json", encoding="utf-8") as file:
            self.assertEqual(json.load(file)["distributedInfo"]["rank"], 1)

    def test_hta_needs_steps_and_writes_no_rank_where_another_is_there(self):
        self.refused(1, "no training steps", "-f", "hta", "-o", self.path("stepless"),
                     self.make("native_program"))
        self.assertFalse(os.path.exists(self.path("stepless")))
        ranks = self.make("too_few_workers", SECOND_RANK)
        first = self.path("ranks")
        self.assertEqual(export("-f", "hta", "-o", first, ranks).returncode, 0)
        self.assertEqual(len(os.listdir(first)), 2)
        second = self.path("second")
        os.makedirs(second)
        shutil.copy(os.path.join(first, sorted(os.listdir(first))[-1]), second)
        self.refused(1, "exists", "-f", "hta", "-o", second, ranks)
        self.assertEqual(len(os.listdir(second)), 1)

    def test_what_a_recording_lacks_is_said_beside_its_exports(self):
        recording = self.make("slow_op")
        segment = os.path.join(recording, sorted(n for n in os.listdir(recording) if n.endswith(".seg"))[0])
        with open(segment, "r+b") as file:
            file.seek(os.path.getsize(segment) // 2)
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 0x10]))
        for form in ("chrome", "csv", "openmetrics", "folded"):
            done = export("-f", form, "-o", self.path("damaged." + form), recording)
            # All stacks were in the damaged part.
            self.assertEqual(done.returncode, 1 if form == "folded" else 0, done.stderr)
            self.assertIn(b"Damaged recording", done.stderr)

    def test_no_trace_beside_what_is_none(self):
        os.makedirs(self.path("mixed"))
        with open(self.path("mixed/report.json"), "w", encoding="utf-8") as file:
            file.write("{}")
        self.refused(1, "report.json", "-f", "hta", "-o", self.path("mixed"), self.recording)
        self.refused(2, "-o", "-f", "hta", self.recording)
        self.refused(1, "no training steps", "-f", "hta", "-o", self.path("none"),
                     self.make("no_training"))

    def test_an_option_that_says_nothing_of_the_format_is_refused(self):
        for words in (["chrome", "--table", "steps"], ["folded", "--detail", "full"], ["csv", "--by", "role"],
                      ["openmetrics", "--detail", "full"], ["perfetto", "--state", "all"]):
            self.refused(2, words[1] + " has no effect with -f " + words[0], "-f", *words, self.recording)

    def test_tables(self):
        with open(self.write("csv", "steps.csv"), encoding="utf-8", newline="") as file:
            steps = list(csv.DictReader(file))
        self.assertGreater(len(steps), 100)
        self.assertEqual({row["pid"] for row in steps}, {"100"})
        with open(self.write("csv", "findings.csv", "--table", "findings"), encoding="utf-8",
                  newline="") as file:
            findings = list(csv.DictReader(file))
        self.assertEqual(findings[0]["id"], "transform.too_few_workers")

    def test_metrics_to_standard_output(self):
        done = export("-f", "openmetrics", self.recording)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.endswith(b"\n# EOF\n"))
        self.assertIn(b"\nstallprof_steps{of=\"run\"} ", done.stdout)

    def test_a_profilers_trace_gets_the_same_report(self):
        trace = self.write("hta", "again") + "/rank0.pt.trace.json"
        words = [STALLPROF, "import", trace, "-o", self.path("imported.stallprof")]
        refused = subprocess.run(words, capture_output=True, timeout=120)
        self.assertEqual(refused.returncode, 2)
        self.assertIn(b"--workers", refused.stderr)
        self.assertFalse(os.path.exists(self.path("imported.stallprof")))
        subprocess.run(words + ["--workers", "1"], check=True, capture_output=True, timeout=120)
        counts = []
        for recording in (self.recording, self.path("imported.stallprof")):
            done = subprocess.run([STALLPROF, "report", recording, "--format", "json"],
                                  stdout=subprocess.PIPE, check=True, timeout=120)
            counts.append(json.loads(done.stdout)["steps"]["count"])
        self.assertEqual(counts[0], counts[1])
        refused = subprocess.run([STALLPROF, "verify", self.path("imported.stallprof")], capture_output=True, timeout=120)
        self.assertEqual(refused.returncode, 2)
        self.assertIn(b"no command to run", refused.stderr)
        half = subprocess.run(words[:3] + ["-o", self.path("half.stallprof"), "--workers", "1.5"], capture_output=True)
        self.assertIn(b"--workers takes a whole number from 1 to 4096, not '1.5'", half.stderr)
        self.assertEqual(half.returncode, 2)
        self.refused_import(self.path("no-such"))
        self.refused_import(os.path.join(GOLDEN, "too_few_workers", "trace.txt"))

    @unittest.skipUnless(os.geteuid() == 0, "needs root to mount")
    def test_an_import_that_has_no_room_leaves_no_part(self):
        fetch = {"ph": "X", "cat": "user_annotation", "pid": 1, "tid": 1, "dur": 20, "args": {},
                 "name": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"}
        with open(self.path("long.json"), "w", encoding="ascii") as trace:
            json.dump({"baseTimeNanoseconds": 1767225600000000000,
                       "traceEvents": [dict(fetch, ts=1000 + 100 * i + i % 7) for i in range(20000)]}, trace)
        os.mkdir(self.path("small"))
        small = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=64k tmpfs "$0" && cd "$0" && "$@"; s=$?; ls; exit $s',
                 self.path("small")]
        done = subprocess.run([*small, STALLPROF, "import", self.path("long.json"), "-o", "part.stallprof"],
                              capture_output=True, timeout=120)
        self.assertEqual((done.returncode, done.stdout), (1, b""), done.stderr)
        self.assertIn(b"'part.stallprof' cannot be written", done.stderr)

    def refused_import(self, path):
        done = subprocess.run([STALLPROF, "import", path, "-o", self.path("x.stallprof")],
                              capture_output=True, timeout=120)
        self.assertEqual(done.returncode, 1, done)
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)

    def test_what_is_no_trace_fails_the_check(self):
        for content in (b"", b"{}", b"\n\x05abc", b"hello"):
            with open(self.path("other"), "wb") as file:
                file.write(content)
            done = subprocess.run([CHECK_TRACE, self.path("other")], stdout=subprocess.DEVNULL,
                                  timeout=120)
            self.assertEqual(done.returncode, 1, content)


if __name__ == "__main__":
    unittest.main()
