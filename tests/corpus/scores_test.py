# SPDX-License-Identifier: MIT
"""How rows of the corpus are scored (scripts/corpus_scores.py), and that its programs list what there is."""
import importlib.machinery
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import corpus_page  # noqa: E402
import corpus_scores as scores  # noqa: E402

LISTED = {
    "decode": {"phases": ["transform"], "findings": ["transform.in_process"], "fixes": []},
    "save": {"phases": ["periodic"], "findings": ["periodic.checkpoint"], "fixes": []},
}


def row(gains, first="transform.in_process", others=(), withheld=None, confidence="high", phases=(), **more):
    findings = [{"id": name, "confidence": confidence, "share": 0.3} for name in (first, *others) if name]
    shares = dict.fromkeys(("extract", "transform", "load", "compute", "sync", "comm", "periodic", "other", "unknown"), 0.0)
    report = {"bound_by": first.split(".")[0], "healthy": None, "confidence": confidence, "withheld": withheld, "tied": [],
              "wait": 0.4, "workers": 0, "cores": 2, "phases": {**shares, **dict(phases)}, "rate": 50.0, "ceilings": {},
              "findings": findings}
    return {"program": "some", "severity": 1, "commit": "abc", "sealed": False, "kind": "one", "have": "", "causes": LISTED,
            "gains": gains, "report": {**report, **more}, "own": {"data": 0.4}, "predictions": []}


def predicted(speedup, low, high, measured):
    return {"change": "num_workers=2", "speedup": speedup, "low": low, "high": high, "measured": measured, "naive": None}


def programs_of_corpus():
    loader = importlib.machinery.SourceFileLoader("score_corpus", str(ROOT / "scripts/score_corpus"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("score_corpus", loader))
    loader.exec_module(module)
    return module


class Clear(unittest.TestCase):
    def test_a_label_is_clear_where_more_rounds_would_leave_it(self):
        for gains, clear in (({"a": (1.01, 0.97, 1.05), "b": (1.0, 0.9, 1.06)}, True),      # healthy
                             ({"a": (1.04, 1.00, 1.08)}, False),                             # 1.08 is near 1.10
                             ({"a": (1.5, 1.3, 1.7), "b": (1.02, 0.98, 1.05)}, True),
                             ({"a": (1.5, 1.3, 1.7), "b": (1.12, 1.10, 1.14)}, True),        # worth it, and no tie
                             ({"a": (1.5, 1.3, 1.7), "b": (1.2, 1.15, 1.25)}, False),        # may be tied
                             ({"a": (1.2, 1.12, 1.3)}, False)):                              # 1.12 is near 1.10
            with self.subTest(gains=gains):
                self.assertEqual(scores.is_clear(gains), clear)


class Labels(unittest.TestCase):
    def test_the_cause_whose_removal_gains_most_is_the_label(self):
        self.assertEqual(scores.label({"decode": 2.0, "save": 1.3}), ["decode"])

    def test_gains_within_ten_per_cent_are_tied(self):
        self.assertEqual(scores.label({"decode": 1.5, "save": 1.4}), ["decode", "save"])

    def test_what_gains_less_than_ten_per_cent_is_no_cause(self):
        self.assertEqual(scores.label({"decode": 1.09, "save": 0.9}), [])
        self.assertEqual(scores.label({"decode": 1.15, "save": 1.08}), ["decode"])


class Verdicts(unittest.TestCase):
    def test_a_report_that_names_the_label_first_is_right(self):
        self.assertEqual(scores.verdict_of(row({"decode": 2.0})), {"phase": True, "cause": True, "top3": True})

    def test_the_label_among_the_first_three_is_top_three_only(self):
        found = scores.verdict_of(row({"decode": 2.0}, "compute.small_ops", ["transform.in_process"]))
        self.assertEqual(found, {"phase": False, "cause": False, "top3": True})

    def test_a_mixed_verdict_is_of_the_phases_of_its_first_two_findings(self):
        mixed = row({"save": 2.0}, others=["periodic.checkpoint"], bound_by="mixed")
        self.assertEqual(scores.verdict_of(mixed), {"phase": True, "cause": False, "top3": True})

    def test_no_verdict_is_neither_right_nor_wrong(self):
        self.assertEqual(scores.verdict_of(row({"decode": 2.0}, withheld="few steps"))["cause"], None)

    def test_a_healthy_program_with_a_cause_named_is_blamed(self):
        rows = [row({"decode": 1.0}), row({"decode": 1.0}, "compute.cpu_bound")]
        self.assertEqual(scores.scores(rows)["blamed, healthy"], (1, 2))

    def test_a_small_cause_that_is_named_is_blame_by_the_labels_bound_alone(self):
        found = scores.scores([row({"decode": 1.07}), row({"decode": 1.04}), row({"decode": 1.07}, "compute.cpu_bound")])
        self.assertEqual((found["blamed, healthy"], found["blamed, healthy and below 1.05"]), ((2, 3), (1, 1)))

    def test_naming_one_of_the_tied_is_right(self):
        rows = [row({"decode": 1.5, "save": 1.5}, "periodic.checkpoint"), row({"decode": 1.5, "save": 1.5}, "load.ipc")]
        self.assertEqual(scores.scores(rows)["blamed, tied"], (1, 2))

    def test_a_label_that_is_not_decided_is_neither_right_nor_wrong(self):
        near = {**row({"decode": 1.11, "save": 1.0}, "compute.cpu_bound"), "copies": 3,
                "interval": {"decode": (1.04, 1.2), "save": (0.9, 1.05)}}
        sure = {**near, "interval": {"decode": (1.1, 1.2), "save": (0.9, 1.05)}}
        fine = {**near, "gains": {"decode": 1.0}, "interval": {"decode": (0.9, 1.09)}}
        found = scores.scores([near, sure, fine])
        self.assertEqual((found["label not decided"], found["top-1 cause"]), ((1, 3), (1, 2)))
        self.assertEqual([corpus_page.outcome(some) for some in (near, sure, fine)], ["label not decided", "MISSED", "ok"])
        earlier = {key: value for key, value in near.items() if key != "copies"}
        self.assertEqual(scores.scores([earlier])["top-1 cause"], (0, 1))

    def test_confidence_words_are_counted_apart(self):
        rows = [row({"decode": 2.0}), row({"save": 2.0}), row({"decode": 2.0}, confidence="low")]
        found = scores.scores(rows)
        self.assertEqual((found['"high" is right'], found['"low" is right']), ((1, 2), (1, 1)))


class Predictions(unittest.TestCase):
    def test_the_error_is_of_the_ratio_and_intervals_are_counted(self):
        some = row({"decode": 2.0})
        some["predictions"] = [predicted(2.0, 1.8, 2.2, 2.0), predicted(2.0, 1.9, 2.1, 1.0)]
        found = scores.prediction_scores([some])
        self.assertAlmostEqual(found["median"], 0.3466, 4)
        self.assertAlmostEqual(found["p90"], 0.6931, 4)
        self.assertEqual((found["within"], found["bounded"]), (1, 2))

    def test_ceilings_alone_predict_the_slower_of_both(self):
        report = row({"decode": 2.0}, rate=50.0, workers=0, ceilings={"compute": 100.0, "transform": 50.0})["report"]
        self.assertAlmostEqual(scores.without_contention(report, 1), 2.0)
        report["workers"], report["ceilings"] = 1, {"compute": 100.0, "transform": 50.0}
        self.assertAlmostEqual(scores.without_contention(report, 2), 2.0)


class Rules(unittest.TestCase):
    def test_each_rule_answers_every_row(self):
        rows = [row({"decode": 2.0}, phases={"transform": 0.4}.items()), row({"decode": 1.0}, wait=0.0, workers=2)]
        for rule in scores.RULES.values():
            self.assertEqual(scores.rule_scores(rows, rule)["top-1 cause"], (2, 2))

    def test_an_interval_of_a_count_holds_its_share(self):
        low, high = scores.wilson(9, 10)
        self.assertTrue(low < 0.9 < high)


class Page(unittest.TestCase):
    def test_rows_of_each_commit_are_a_section_of_their_own(self):
        rows = [row({"decode": 2.0}), {**row({"decode": 1.0}), "commit": "def"}]
        page = corpus_page.page(rows, "", {"some": "a reason"})
        self.assertLess(page.index("## At def"), page.index("## At abc"))
        self.assertIn("- `some`: a reason", page)

    def test_what_the_hypervisor_took_is_on_it(self):
        quiet = {**row({"decode": 2.0}), "rounds": 8, "rounds_run": 11, "noisy": []}
        quiet["report"]["stolen"] = 0.01
        noisy = {**quiet["report"], "stolen": 0.37, "withheld": "noisy"}
        page = corpus_page.page([quiet, {**quiet, "noisy": [noisy]}], "", {})
        self.assertIn("6 of 22", page)
        self.assertIn("(37% taken; ", page)
        self.assertIn("no verdict)", page)
        self.assertNotIn("Rounds not counted", corpus_page.page([row({"decode": 2.0})], "", {}))

    def test_errors_of_predictions_are_counted_by_the_size_of_the_gain(self):
        some = row({"decode": 2.0})
        some["predictions"] = [predicted(1.5, 1.4, 1.6, 1.5), predicted(4.0, 3.0, 5.0, 2.0)]
        page = corpus_page.page([some], "", {})
        self.assertIn("| gains to 1.5 | 1 | 0.0% | 0.0% | 1 of 1 (100%;", page)
        self.assertIn("| gains over 2 | 1 | 69.3% | 69.3% | 0 of 1 (0%;", page)
        self.assertNotIn("gains to 1.1 ", page)

    def test_what_is_assumed_of_batches_made_beside_the_loop_is_counted_apart(self):
        some = row({"decode": 2.0})
        some["predictions"] = [{**predicted(1.5, 1.0, 1.6, 1.8), "change": "thread", "basis": "assumed"},
                               {**predicted(1.5, 1.0, 1.6, 1.5), "basis": "replayed"}]
        page = corpus_page.page([some], "", {})
        self.assertIn("| in a thread | 1 | 18.2% | 18.2% | 0 of 1 (0%;", page)
        self.assertIn("| in a process | 0 | - | - | - |", page)
        self.assertIn("| gains to 1.5 | 1 | 0.0% | 0.0% | 1 of 1 (100%;", page)
        some["predictions"].pop(0)
        self.assertNotIn("in a thread", corpus_page.page([some], "", {}))


class Programs(unittest.TestCase):
    def test_they_list_findings_and_phases_that_there_are(self):
        ids = set()
        for file in (ROOT / "src/analysis/findings").rglob("*.cpp"):
            ids.update(re.findall(r'"((?:extract|transform|load|compute|periodic)\.\w+)"', file.read_text()))
        module = programs_of_corpus()
        self.assertTrue(module.programs())
        for name in module.programs():
            for cause in module.causes_of(name).values():
                self.assertLessEqual(set(cause["findings"]), ids, name)
                self.assertLessEqual(set(cause["phases"]), {"extract", "transform", "load", "compute", "periodic"}, name)

    def test_batches_made_beside_the_loop_are_those_of_the_loop(self):
        program = ("import json, os, threading, corpus; who = lambda step: (step, os.getpid(), threading.get_native_id()); "
                   "make = corpus.ahead(who); print(json.dumps([who(None), *map(make, range(9))]))")
        for beside, process, thread in ([], True, True), (["--beside", "thread"], True, False), (["--beside", "process"], False, False):
            with self.subTest(beside=beside):
                run = subprocess.run([sys.executable, "-c", program, *beside], capture_output=True, check=True, cwd=ROOT / "tests/corpus")
                own, *made = json.loads(run.stdout)
                self.assertEqual([step for step, _, _ in made], list(range(9)))
                self.assertEqual([pid == own[1] for _, pid, _ in made], 9 * [process])
                self.assertEqual([tid == own[2] for _, _, tid in made], 9 * [thread])

    def test_a_finding_that_advises_it_has_its_prediction_tried(self):
        module = programs_of_corpus()
        advice = {"change": {"name": "loading", "from": "in the loop", "to": "ahead"}, "predicted": {"basis": "assumed", "speedup": 1.5}}
        report = {"findings": [{"advice": [advice]}]}
        self.assertEqual(module.Subject("bz2_numpy", 1, "python").beside(report), {("--beside", "thread"): advice["predicted"]})
        self.assertEqual(module.Subject("tiny_files", 1, "python").beside(report), {})


if __name__ == "__main__":
    unittest.main()
