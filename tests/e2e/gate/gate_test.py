#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The gate as CI runs it: its statuses, its policy, its baseline and what it writes for others."""
import json
import os
import re
import subprocess
import unittest
import xml.etree.ElementTree as ElementTree

import reports

FORMATS = ["text", "json", "junit", "sarif", "markdown", "github", "gitlab"]
POLICY = """schema = "stallprof.gate/1"
[[metric]]
name = "steps.time_ns.p50"
[[metric]]
name = "breakdown.ratio.data_wait"
max = "10%"
[[metric]]
name = "steps.count"
deterministic = true
"""
# What must never leave: C0 but newline, DEL, C1, bidirectional and zero-width controls.
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
HOSTILE = ("\uffff\x1b]0;x\x07\x1b[2J\u202e\u200b'\"</failure><script>alert(1)</script>|`*_::error::%0A"
           "\r\n::set-output name=x::y]]>&lt;")


class Statuses(reports.Folder):
    def test_pass_regression_and_gain(self):
        base = self.side("base", 100)
        self.assertIn("PASS", self.gate(base, self.side("same", 100.3), status=0))
        text = self.gate(base, self.side("worse", 108), status=1)
        self.assertRegex(text, r"(?m)^FAIL  steps a second regressed \(-7\.4 %, 10/s to 9\.26/s\)\.$")
        self.assertLess(len(text.splitlines()), 16)
        self.assertIn("improved", self.gate(base, self.side("better", 90), status=0))

    def test_one_run_a_side_is_advice(self):
        text = self.gate(self.side("base", 100, runs=1), self.side("head", 150, runs=1), status=0)
        self.assertIn("advisory", text)
        self.assertIn("give 5 or more a side", text)

    def test_noise_is_unsure_and_says_what_could_be_seen(self):
        base, head = self.side("base", 100, 0.08), self.side("head", 105, 0.08)
        text = self.gate(base, head, status=0)
        self.assertRegex(text, r"these runs can show -\d+\.\d %")
        self.write("strict.toml", POLICY.replace("[[metric]]", '[stats]\non_inconclusive = "fail"\n'
                                                 "[[metric]]", 1))
        self.gate(base, head, "-c", "strict.toml", status=3)

    def test_usage(self):
        base = self.side("base", 100)
        self.refused(2, "--help")
        self.refused(2, "--help", *base)
        self.refused(2, "--help", "--format", "pdf", "a", "b")
        self.refused(2, "junit=gate.xml", "--report", "junit", base[0], "--", base[1])
        self.refused(2, "no-such.json", "no-such.json", "--", base[0])
        self.write("junk.json", "{}")
        self.refused(2, "'junk.json'", "junk.json", "--", base[0])
        self.refused(2, "no-such.toml", "-c", "no-such.toml", base[0], "--", base[1])

    def test_a_metric_that_was_not_measured(self):
        base = self.side("base", 100)
        head = self.side("h", 100)
        lacking = json.loads(self.read(head[3]))
        lacking["steps"]["rate_per_s"] = None
        self.write(head[3], json.dumps(lacking))
        self.refused(2, "'h-3.json' has no steps.rate_per_s", *base, "--", *head)

    def test_another_host_is_not_comparable(self):
        base = self.side("base", 100)
        text = self.gate(base, self.side("head", 100, run__host__cpu_model="Other"), status=3)
        self.assertIn("NOT COMPARABLE", text)
        self.assertIn("cpu_model", text)

    def test_the_order_of_the_gpus_is_no_other_host(self):
        base = self.side("base", 100, run__host__gpus=["NVIDIA A100", "NVIDIA T4"])
        head = self.side("head", 100, run__host__gpus=["NVIDIA T4", "NVIDIA A100"])
        self.assertNotIn("NOT COMPARABLE", self.gate(base, head, status=0))

    def test_a_failed_workload(self):
        base = self.side("base", 100)
        self.assertIn("WORKLOAD FAILED",
                      self.gate(base, self.side("head", 100, run__exit__code=1), status=4))

    def test_the_batch_size_is_of_the_steps_and_not_of_an_evaluation(self):
        def side(name, size, evaluation, **changes):
            loader, = reports.HEALTHY["run"]["loaders"]
            return self.side(name, 100, runs=5, **changes, run__loaders=[
                dict(loader, batch_size=of) for of in (size, evaluation)])
        one, other = side("one", 32, 32), side("other", 64, 32, steps__batch_size=64)
        self.assertIn("the batch size is 32 in 'one-0.json', 64 in 'other-0.json'", re.sub(
            r"\s+", " ", self.gate(one, other, status=3)))
        self.gate(side("doubled", 32, 64, steps__batch_size=32), one, status=0)
        self.gate(side("unknown", 64, 32), one, status=0)

    def test_a_run_that_steps_ended_is_no_failed_workload(self):
        asked = {"run__exit": {"code": None, "signal": 15}, "run__overrides": ["--steps", "60"]}
        base, head = self.side("base", 100, **asked), self.side("head", 100.3, **asked)
        self.assertIn("PASS", self.gate(base, head, status=0))
        kept = reports.call("gate", "--baseline", "save", "kept", *base, cwd=self.dir)
        self.assertEqual(kept.returncode, 0, kept.stderr)
        compared = reports.call("compare", *base, "--", *head, cwd=self.dir).stdout.decode()
        self.assertNotIn("signal", compared)
        killed = self.side("killed", 100, **{**asked, "run__exit": {"code": None, "signal": 9}})
        self.assertIn("died of signal 9", self.gate(base, killed, status=4))

    def test_a_recording_is_read_like_its_report(self):
        got = reports.call("run", "-o", "r.stallprof", "--report", "json=r.json", "--", "sleep", "0.3",
                           cwd=self.dir)
        self.assertEqual(got.returncode, 0)
        self.write("wall.toml", 'schema = "stallprof.gate/1"\n[[metric]]\nname = "run.wall_ns"\n'
                                'single_run_threshold = "20%"\nmax = "1min"\n')
        self.refused(2, "a run compared with itself", "-c", "wall.toml", "r.json", "--", "r.stallprof")
        report = json.loads(self.read("r.json"))
        report["run"]["wall_ns"] += 1   # another run
        self.write("r.json", json.dumps(report))
        text = self.gate(["r.json"], ["r.stallprof"], "-c", "wall.toml", status=0)
        self.assertIn("+0.0 %", text)
        self.assertIn("within budget", text)


class PolicyFile(reports.Folder):
    def test_the_usual_name_is_found_where_the_gate_stands(self):
        base = self.side("base", 100, runs=5)
        self.write("stallprof-gate.toml", POLICY)
        self.assertIn("policy: stallprof-gate.toml", self.gate(base, self.side("same", 100, runs=5), status=0))
        waiting = self.side("wait", 100, runs=5, breakdown__ratio__data_wait=0.2)
        self.assertIn("budget: at most 10 %", self.gate(base, waiting, status=1))
        fewer = self.side("fewer", 100, runs=5, steps__count=189)
        self.assertIn("must not change: 189, not 190", self.gate(base, fewer, status=1))

    def test_errors_are_one_line_with_the_place_and_the_nearest_word(self):
        base = self.side("base", 100, runs=1)
        for line, why in (("max_regresion = 1", r"did you mean 'max_regression'"),
                          ("max_regression = []", "takes a share"), ("= 3", "")):
            self.write("bad.toml", POLICY.replace('p50"\n', 'p50"\n' + line + "\n"))
            self.refused(2, r"^stallprof: bad\.toml:4: .*" + why, "-c", "bad.toml", *base, "--", *base)


class Baseline(reports.Folder):
    def test_saved_updated_and_used_from_the_policy(self):
        base = self.side("base", 100)
        run = lambda *words: reports.call("gate", *words, cwd=self.dir)
        self.assertEqual(run("--baseline", "save", "perf/base", *base).returncode, 0)
        index = json.loads(self.read("perf/base/baseline.json"))
        self.assertEqual(index["schema"], "stallprof.baseline/1")
        self.assertEqual(len(index["runs"]), 8)
        self.assertEqual(index["host"]["cpu_model"], "Example CPU")
        self.write("stallprof-gate.toml", POLICY + '[baseline]\ndir = "perf/base"\n')
        slow = self.side("slow", 110)
        self.gate([], slow, status=1)
        self.gate(["perf/base"], slow, status=1)
        self.refused(2, "--baseline update", "--baseline", "save", "perf/base", *slow)
        self.assertEqual(run("--baseline", "update", "perf/base", *slow[:6]).returncode, 0)
        self.assertEqual(sorted(os.listdir(os.path.join(self.dir, "perf/base"))),
                         ["baseline.json"] + [f"run-{i:03}.json" for i in range(9, 15)])
        self.gate([], self.side("as-slow", 110), status=0)
        self.gate([], self.side("else", 110, run__host__cores_usable=2.0), status=3)
        for base in (["perf/base"], []):
            self.refused(2, "an input of this gate", "-o", "perf/base/run-009.json", *base, "--", *slow)

    def test_save_leaves_files_alone_that_are_of_no_baseline(self):
        runs = [self.report(f"perf/run-00{i}.json", 100 + i) for i in (2, 3, 4)]
        before = {name: self.read(name) for name in runs}
        self.refused(2, r"'perf/run-002\.json' exists", "--baseline", "save", "perf", *runs)
        self.assertEqual({name: self.read(name) for name in runs}, before)
        self.assertEqual(len(os.listdir(os.path.join(self.dir, "perf"))), 3)

    def test_an_update_that_cannot_be_written_leaves_the_base_as_it_was(self):
        base, new = self.side("base", 100, runs=5), self.side("new", 90, runs=5)
        run = lambda *words, **how: reports.call("gate", *words, cwd=self.dir, **how)
        self.assertEqual(run("--baseline", "save", "perf", *base).returncode, 0)
        held = lambda: {name: self.read("perf/" + name)
                        for name in os.listdir(os.path.join(self.dir, "perf"))}
        before = held()
        large = self.report("large.json", 90, not_measured=["x" * 100] * 8000)
        # No file may grow beyond 200 KiB: the first report is written, the second is not.
        words = [reports.STALLPROF, "gate", "--baseline", "update", "perf", new[0], large]
        got = subprocess.run(["sh", "-c", 'trap "" XFSZ; ulimit -f 400; exec "$@"', "sh", *words],
                             cwd=self.dir, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(got.returncode, 2, got.stderr)
        self.assertRegex(got.stderr, rb"^stallprof: cannot write [^\n]*\n$")
        self.assertEqual(held(), before)
        self.assertIn("PASS", self.gate(["perf"], self.side("same", 100, runs=5), status=0))

    def test_what_may_not_be_a_base(self):
        good = self.side("base", 100, runs=2)
        other = self.side("other", 100, runs=1, run__host__cpu_model="Other")
        failed = self.side("failed", 100, runs=1, run__exit__code=3)
        self.refused(3, "not of the same host", "--baseline", "save", "d", *good, *other)
        self.refused(4, "failed", "--baseline", "save", "d", *good, *failed)
        self.refused(2, "DIR RUN", "--baseline", "save", "d")
        stepless = self.side("stepless", 100, runs=1, steps__source=None)
        self.refused(2, "has no training steps", "--baseline", "save", "d", *good, *stepless)
        self.assertFalse(os.path.exists(os.path.join(self.dir, "d")))

    def test_a_missing_or_damaged_baseline(self):
        head = self.side("head", 100)
        self.write("stallprof-gate.toml", POLICY + '[baseline]\ndir = "perf"\n')
        self.refused(2, "no baseline in 'perf'", "--", *head)
        for runs in ('["../../etc/passwd"]', '["/etc/passwd"]', "[]", "3", '[".hidden"]'):
            self.write("perf/baseline.json", '{"schema": "stallprof.baseline/1", "runs": %s}' % runs)
            self.refused(2, r"perf/baseline\.json", "--", *head)
        os.remove(os.path.join(self.dir, "perf/baseline.json"))
        self.write("stallprof-gate.toml",
                   POLICY + '[baseline]\ndir = "perf"\non_missing = "warn"\n')
        self.assertIn("No baseline", self.gate([], head, status=0))

    def test_an_old_baseline_is_said_to_be_old(self):
        base = self.side("base", 100)
        reports.call("gate", "--baseline", "save", "perf", *base, cwd=self.dir)
        index = json.loads(self.read("perf/baseline.json"))
        index["saved_at"] = "2020-01-01T00:00:00Z"
        self.write("perf/baseline.json", json.dumps(index))
        self.write("stallprof-gate.toml", POLICY + '[baseline]\ndir = "perf"\nmax_age_days = 30\n')
        self.assertRegex(self.gate([], self.side("same", 100), status=0), r"baseline is \d{4,} days old")


class Outputs(reports.Folder):
    def setUp(self):
        super().setUp()
        self.write("stallprof-gate.toml", POLICY)
        self.base = self.side("base", 100)
        self.head = self.side("head", 120, breakdown__ratio__data_wait=0.3)

    def out(self, form, head=None, status=1):
        return self.gate(self.base, head or self.head, "--format", form, status=status)

    def test_json(self):
        got = json.loads(self.out("json"))
        self.assertEqual((got["schema"], got["verdict"], got["passed"], got["exit_status"]),
                         ("stallprof.gate_result/1", "regressed", False, 1))
        shift, budget, exact = got["checks"]
        self.assertEqual((shift["metric"], shift["verdict"], shift["passed"]),
                         ("steps.time_ns.p50", "regressed", False))
        self.assertAlmostEqual(shift["change"], 0.2, places=6)
        self.assertLess(shift["interval"]["low"], 0.2)
        self.assertGreater(shift["interval"]["high"], 0.2)
        self.assertAlmostEqual(shift["interval"]["p_worse"], 1 / 12870)  # 16 over 8
        self.assertEqual(shift["interval"]["by"], "order")
        self.assertEqual((budget["verdict"], budget["max"]), ("over_budget", 0.1))
        self.assertEqual((exact["verdict"], exact["passed"]), ("same", True))

    def test_junit(self):
        suite = ElementTree.fromstring(self.out("junit")).find("testsuite")
        cases = suite.findall("testcase")
        self.assertEqual(int(suite.get("tests")), len(cases))
        self.assertEqual(int(suite.get("failures")), len(suite.findall("testcase/failure")))
        self.assertEqual(int(suite.get("failures")), 2)
        self.assertEqual(cases[0].get("name"), "steps.time_ns.p50")
        noisy = self.side("noisy", 105, 0.2)
        suite = ElementTree.fromstring(self.out("junit", noisy, status=0)).find("testsuite")
        self.assertEqual(int(suite.get("skipped")), len(suite.findall("testcase/skipped")))
        self.assertEqual(int(suite.get("skipped")), 1)
        broken = self.side("broken", 100, run__exit__code=1)
        suite = ElementTree.fromstring(self.out("junit", broken, status=4)).find("testsuite")
        self.assertEqual(suite.find("testcase/error").get("type"), "workload_failed")

    def test_sarif(self):
        got = json.loads(self.out("sarif"))
        self.assertEqual(got["version"], "2.1.0")
        run, = got["runs"]
        self.assertEqual(run["tool"]["driver"]["name"], "stallprof")
        rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
        self.assertEqual(len(run["results"]), 2)
        for result in run["results"]:
            self.assertIn(result["ruleId"], rules)
            self.assertEqual(result["level"], "error")
            self.assertTrue(result["message"]["text"])
            place = result["locations"][0]["physicalLocation"]
            self.assertTrue(place["artifactLocation"]["uri"])
            self.assertGreaterEqual(place["region"]["startLine"], 1)
            self.assertRegex(result["partialFingerprints"]["stallprofGate/v1"], "^[0-9a-f]{16}$")
        self.assertEqual(json.loads(self.out("sarif", self.side("same", 100), status=0))["runs"][0]["results"], [])

    def test_an_output_replaces_no_input_and_a_steps_summary_grows(self):
        for file in (self.head[0], "stallprof-gate.toml"):
            self.write("stallprof-gate.toml", POLICY)
            before = self.read(file)
            self.refused(2, "is an input of this gate", "-o", file, *self.base, "--", *self.head)
            self.assertEqual(self.read(file), before)
        summary = os.path.join(self.dir, self.write("summary.md", "# earlier\n"))
        for _ in range(2):
            reports.call("gate", "--report", "markdown=" + summary, *self.base, "--", *self.head, cwd=self.dir,
                         env={"GITHUB_STEP_SUMMARY": summary})
        text = self.read("summary.md")
        self.assertTrue(text.startswith("# earlier\n"))
        self.assertEqual(text.count("stallprof gate"), 2)

    def test_marks_name_files_from_the_repositorys_root(self):
        self.write("train/gate.toml", POLICY)
        words = ["gate", "-c", "gate.toml", "--format", "github"]
        runs = [["../" + name for name in side] for side in (self.base, self.head)]
        place = os.path.join(self.dir, "train")

        def marked(**env):
            got = reports.call(*words, *runs[0], "--", *runs[1], cwd=place, env=env)
            return set(re.findall(r"^::error file=([^,]*)", got.stdout.decode(), re.M))
        self.assertEqual(marked(GITHUB_WORKSPACE="", CI_PROJECT_DIR=""), {"gate.toml"})
        self.assertEqual(marked(GITHUB_WORKSPACE="/nonexistent", CI_PROJECT_DIR=self.dir), {"train/gate.toml"})
        os.mkdir(os.path.join(self.dir, ".git"))
        self.assertEqual(marked(GITHUB_WORKSPACE=place, CI_PROJECT_DIR=""), {"train/gate.toml"})

    def test_gitlab(self):
        got = json.loads(self.out("gitlab"))
        self.assertEqual(len(got), 2)
        self.assertEqual(len({issue["fingerprint"] for issue in got}), 2)
        for issue in got:
            self.assertEqual(set(issue),
                             {"description", "check_name", "fingerprint", "severity", "location"})
            self.assertIn(issue["severity"], ("info", "minor", "major", "critical", "blocker"))
            self.assertGreaterEqual(issue["location"]["lines"]["begin"], 1)
            self.assertTrue(issue["location"]["path"])

    def test_github_and_markdown(self):
        lines = self.out("github").splitlines()
        self.assertEqual(len(lines), 2)
        for line in lines:
            self.assertRegex(line, r"^::error file=[^,:]+,line=\d+,title=gate/[^,:]+::(step|waiting)")
        self.assertRegex(self.out("github", self.side("same", 100), status=0), "^::notice title=")
        table = self.out("markdown")
        self.assertTrue(table.startswith("### stallprof gate: regressed\n"))
        self.assertIn("| `steps.time_ns.p50` | 100 ms | 120 ms | +20.0 % |", table)

    def test_several_at_once_and_the_text_in_the_log(self):
        text = self.gate(self.base, self.head, "--report", "junit=gate.xml", "--report",
                         "markdown=gate.md", "--format", "sarif", "-o", "gate.sarif", status=1)
        self.assertIn("FAIL", text)
        ElementTree.fromstring(self.read("gate.xml"))
        json.loads(self.read("gate.sarif"))
        self.assertIn("###", self.read("gate.md"))
        plain = self.gate(self.base, self.head, "-o", "gate.txt", status=1)
        self.assertEqual(plain, "")
        self.assertIn("FAIL", self.read("gate.txt"))

    def test_hostile_names_are_escaped_in_every_sink(self):
        finding = {"rank": 1, "id": "load.ipc", "phase": "load", "share_ratio": 0.2, "within": None,
                   "confidence": "high", "title": HOSTILE, "evidence": [], "advice": [],
                   "where": {"file": "x" + HOSTILE, "line": 3, "function": HOSTILE}, "hot": None}
        head = self.side("hostile", 130, findings=[finding])
        self.write("rules.toml", POLICY + '[[finding]]\nid = "load.*"\nnew = "error"\n')
        other = self.side("other\u202e", 100, run__host__cpu_model=HOSTILE)
        failed = self.side("failed", 100, run__exit__code=1)
        os.rename(os.path.join(self.dir, failed[0]), os.path.join(self.dir, "f\x1b[2J<b>.json"))
        failed[0] = "f\x1b[2J<b>.json"
        for form in FORMATS:
            for runs, status in ((head, 1), (other, 3), (failed, 4)):
                with self.subTest(form=form, status=status):
                    text = self.gate(self.base, runs, "-c", "rules.toml", "--format", form,
                                     status=status)
                    self.assertIsNone(CONTROL.search(text), repr(text))
                    if form in ("junit", "markdown"):
                        self.assertNotIn("<script", text)
                    if form == "junit":
                        ElementTree.fromstring(text)
                    if form in ("json", "sarif", "gitlab"):
                        json.loads(text)
                    if form == "github":
                        for line in text.splitlines():
                            self.assertRegex(line, "^::(error|warning|notice) ")


if __name__ == "__main__":
    unittest.main()
