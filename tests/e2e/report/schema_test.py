#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every report of the sample analyses fits the schema, and its shares sum."""
import json
import os
import pathlib
import subprocess
import unittest

try:
    import jsonschema
except ImportError:
    jsonschema = None

GOLDENS = pathlib.Path(__file__).resolve().parents[2] / "golden"
OPTIONAL = {"cost", "tune", "device", "native", "counters", "lines", "numa", "overrides", "settings",  # where there are any
            "measured_high", "measured_low", "outcome",  # of advice that was tried
            "batch_size",  # of steps
            "library"}  # of a loader; the validator asks for others
NAMES = ["nothing", "input_bound", "healthy", "no_steps", "damaged", "tied", "hostile"]
with open(os.environ["SCHEMA"], encoding="utf-8") as schema_file:
    SCHEMA = json.load(schema_file)


def report(name):
    out = subprocess.run([os.environ["SAMPLE_REPORT"], name, "json"], check=True,
                         stdout=subprocess.PIPE).stdout
    return json.loads(out.decode("ascii"))


def breakdowns(value):
    yield value["breakdown"]
    for trainer in value["trainers"]:
        yield trainer["breakdown"]


def resolve(schema):
    while "$ref" in schema:
        schema = SCHEMA["definitions"][schema["$ref"].rsplit("/", 1)[1]]
    return schema


class Schema(unittest.TestCase):
    @unittest.skipIf(jsonschema is None, "python3-jsonschema is not installed")
    def test_reports_fit_the_schema(self):
        jsonschema.Draft7Validator.check_schema(SCHEMA)
        validator = jsonschema.Draft7Validator(SCHEMA)
        for name in NAMES:
            with self.subTest(name):
                errors = [f"{list(e.path)}: {e.message[:200]}"
                          for e in validator.iter_errors(report(name))]
                self.assertEqual(errors[:5], [])

    @unittest.skipIf(jsonschema is None, "python3-jsonschema is not installed")
    def test_the_schema_refuses_what_is_wrong(self):
        validator = jsonschema.Draft7Validator(SCHEMA)
        good = report("input_bound")
        for path, wrong in [("run.wall_ns", 1.5), ("steps.time_ns.p50", None),
                            ("breakdown.ratio.compute", None), ("verdict.bound_by", "magic"),
                            ("coverage.overhead", {})]:
            with self.subTest(path):
                bad = json.loads(json.dumps(good))
                where = bad
                *parents, leaf = path.split(".")
                for parent in parents:
                    where = where[parent]
                where[leaf] = wrong
                self.assertFalse(validator.is_valid(bad))

    @unittest.skipIf(jsonschema is None, "python3-jsonschema is not installed")
    def test_the_schema_takes_the_fields_of_later_versions(self):
        later = {**report("input_bound"), "surprise": 1}
        later["steps"]["surprise"] = {"of": "later"}
        self.assertTrue(jsonschema.Draft7Validator(SCHEMA).is_valid(later))

    def test_emitted_fields_are_the_schemas(self):
        """Without the validator too: same names, none missing, none more (cost and device apart)."""

        def compare(value, schema, path):
            schema = resolve(schema)
            if isinstance(value, dict) and "properties" in schema:
                emitted, declared = set(value), set(schema["properties"])
                self.assertEqual(emitted | OPTIONAL, declared | OPTIONAL, path)
                for name in emitted:
                    compare(value[name], schema["properties"][name], f"{path}.{name}")
            if isinstance(value, list) and "items" in schema:
                for item in value:
                    compare(item, schema["items"], path + "[]")

        for name in NAMES:
            with self.subTest(name):
                compare(report(name), SCHEMA, "")
        for golden in sorted(GOLDENS.glob("gpu_*/report.json")):
            with self.subTest(golden.parent.name):
                value = json.loads(golden.read_text())
                self.assertIn("device", value)
                compare(value, SCHEMA, "")
        self.assertIn("cost", report("tied"))
        self.assertNotIn("cost", report("input_bound"))

    def test_shares_sum(self):
        for name in NAMES:
            for breakdown in breakdowns(report(name)):
                with self.subTest(name):
                    ratio = breakdown["ratio"]
                    if ratio is None:
                        continue
                    self.assertAlmostEqual(sum(ratio.values()), 1, places=9)
                    self.assertAlmostEqual(sum(breakdown["phase_ratio"].values()), 1, places=9)
                    blame = breakdown["data_wait_blame_ratio"]
                    if blame is not None:
                        self.assertAlmostEqual(sum(blame.values()), ratio["data_wait"], places=9)

    def test_what_was_not_measured_is_null(self):
        value = report("nothing")
        self.assertIsNone(value["steps"]["source"])
        self.assertIsNone(value["steps"]["time_ns"])
        self.assertEqual(value["steps"]["count"], 0)
        for name in ("ratio", "data_wait_blame_ratio", "phase_ratio", "hidden_wait_ratio"):
            self.assertIsNone(value["breakdown"][name])
        self.assertEqual({v for v in value["resources"].values()}, {None})


if __name__ == "__main__":
    unittest.main()
