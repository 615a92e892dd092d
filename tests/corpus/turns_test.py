# SPDX-License-Identifier: MIT
"""How variants of a program are compared by turns (scripts/turns.py)."""
import pathlib
import sys
import tempfile
import textwrap
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import benchlib  # noqa: E402
import turns  # noqa: E402

# Steps of so long, whose times it appends; the first may end it.
PROGRAM = textwrap.dedent("""
    import struct, sys, time
    length, status = float(sys.argv[1]), int(sys.argv[2])
    with open(sys.argv[sys.argv.index("--steps-to") + 1], "ab", buffering=0) as file:
        while True:
            file.write(struct.pack("d", time.monotonic()))
            if status:
                sys.exit("no such data")
            time.sleep(length)
""")


def command(length, status=0):
    return [sys.executable, "-c", PROGRAM, str(length), str(status)]


class Gains(unittest.TestCase):
    def test_steps_of_all_turns_are_counted_together(self):
        base, other = [(10, 1.0), (30, 1.0)], [(20, 1.0), (60, 1.0)]
        gain, low, high = turns.gain(base, other)
        self.assertAlmostEqual(gain, 2.0)
        self.assertAlmostEqual(low, 2.0)   # a host that is three times as slow in one round has no part in it
        self.assertAlmostEqual(high, 2.0)

    def test_rounds_that_disagree_make_the_interval_wide(self):
        base = [(20, 1.0)] * 8
        gain, low, high = turns.gain(base, [(20, 1.0), (40, 1.0)] * 4)
        self.assertAlmostEqual(gain, 1.5)
        self.assertLess(low, 1.3)
        self.assertGreater(high, 1.7)
        self.assertFalse(turns.known_well([(gain, low, high)]))

    def test_copies_that_disagree_make_the_interval_wide_however_alike_their_rounds_are(self):
        base, of_copy = [(20, 1.0)] * 9, [0, 1, 2] * 3
        _, low, high = turns.gain(base, [(17, 1.0), (20, 1.0), (24, 1.0)] * 3, of_copy)
        self.assertLess(low, 0.95)
        self.assertGreater(high, 1.1)
        _, low, high = turns.gain(base, [(20, 1.0)] * 9, of_copy)
        self.assertEqual((low, high), (1.0, 1.0))

    def test_a_variant_that_never_stepped_is_an_error(self):
        with self.assertRaises(SystemExit):
            turns.gain([(20, 1.0)], [(0, 1.0)])


class Stolen(unittest.TestCase):
    def test_a_round_counts_where_little_was_stolen_from_each_of_its_turns(self):
        few = turns.STOLEN / 2
        base, other = [few] * 10, [0.0] * 10
        self.assertEqual(turns.quiet([base, other]), list(range(10)))
        other[3], base[7] = 0.5, turns.STOLEN * 1.1
        self.assertEqual(turns.quiet([base, other]), [0, 1, 2, 4, 5, 6, 8, 9])

    def test_a_host_that_is_never_quiet_has_all_of_its_rounds_counted_in_the_end(self):
        noisy = [0.5] * turns.MAX_ROUNDS
        self.assertEqual(turns.quiet([noisy[1:]]), [])
        self.assertEqual(turns.quiet([noisy]), list(range(turns.MAX_ROUNDS)))


    def test_a_row_waits_for_a_quiet_host_but_not_for_ever(self):
        for stolen, patience, quiet in (([0.3, 0.2, 0.0], 300, True), ([0.3, 0.2, 0.0], -1, False), ([0.0], 0, True)):
            with unittest.mock.patch.object(benchlib, "stolen_when_busy", side_effect=stolen), \
                 unittest.mock.patch.object(benchlib.time, "sleep"):
                self.assertEqual(benchlib.wait_for_quiet(0.05, patience), quiet)


class Comparisons(unittest.TestCase):
    def test_each_runs_in_its_own_turns_alone_and_none_is_left(self):
        with tempfile.TemporaryDirectory() as folder:
            rate, gains, rounds, run = turns.compare({"base": command(0.02), "quick": command(0.01)}, folder)
        self.assertGreater(rate, 0)
        self.assertGreater(gains["quick"][0], 1)
        self.assertGreaterEqual(rounds, turns.ROUNDS[0])
        self.assertGreaterEqual(run, rounds)

    def test_a_variant_that_ends_is_named_with_its_status_and_last_line(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaises(SystemExit) as failed:
            turns.compare({"base": command(0.02), "broken": command(0.02, 1)}, folder)
        self.assertIn("status 1", str(failed.exception))
        self.assertIn("no such data", str(failed.exception))

    def test_a_stopped_variant_takes_no_step(self):
        with tempfile.TemporaryDirectory() as folder:
            variant = turns.Variant(command(0.01), folder)
            try:
                variant.warm_up()
                for _ in range(2):
                    variant.turn(0.2)
                begun = variant.turns[0][1]
                self.assertFalse([step for step in variant.steps() if begun + 0.05 < step < variant.turns[1][0]])
            finally:
                variant.end()
            self.assertIsNotNone(variant.process.poll())


if __name__ == "__main__":
    unittest.main()
