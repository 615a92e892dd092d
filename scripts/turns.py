# SPDX-License-Identifier: MIT
"""Variants of a program, compared on a host whose speed drifts: all of them are started, and one at a time runs.

A host that others use is faster or slower by a third for ten seconds at a time, with nothing in /proc that says so, and
runs one after another compare the host. Here each variant is stopped (SIGSTOP to its session) but for short turns of its
own, which go round until the gains are known well enough. Every variant appends the time of each of its steps
(CLOCK_MONOTONIC, a double of 8 bytes) to a file.

A process is as fast as where its memory came to lie lets it be: the same convolution was 0.91 and 1.15 times as fast as
itself. So each variant is started several times, rounds take its copies in turn, and an interval is of copies and rounds.

What the hypervisor takes is in /proc (steal), and takes more from a variant that uses more CPUs: a round in which it took
much from any turn is not counted."""

import array
import itertools
import math
import os
import pathlib
import random
import signal
import statistics
import subprocess
import time

import benchlib

TURN = 0.5           # seconds, or so many steps, whichever is longer
TURN_STEPS = 8
STARTS = 90          # seconds until the end of the warm-up, at most
WARM_UP = 0.5        # seconds after the first step, and so many steps, that do not count
WARM_UP_STEPS = 10
COPIES = 5           # processes of each variant
TOGETHER = 2         # of them are started at once: most of a start is imports, on one CPU
ROUNDS = (10, 30)    # at least, at most, of those that count
STOLEN = 0.05        # of a CPU during a turn, at most, in a round that counts
MAX_ROUNDS = 48     # counted or not
ENOUGH = 0.03        # half of the 90 % interval of the logarithm of each gain
DRAWS = 400


class Variant:
    """A command in a session of its own. Stopped whenever no method runs; `end` has to be called."""

    def __init__(self, command, folder):
        self.steps_file = pathlib.Path(folder) / "steps"
        self.steps_file.touch()
        self.turns = []     # (begin, end)
        self.stolen = []    # of a CPU, during each turn
        self.command = command
        self.errors = pathlib.Path(folder) / "errors"
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen([*command, "--steps-to", str(self.steps_file)], stdout=subprocess.DEVNULL,
                                            stderr=errors, start_new_session=True,
                                            env={**os.environ, "TMPDIR": str(folder)})

    def steps(self):
        data = self.steps_file.read_bytes()
        return array.array("d", data[:len(data) // 8 * 8])

    def check(self):
        if self.process.poll() is not None:
            said = self.errors.read_text(errors="replace").strip().splitlines()
            raise SystemExit(f"ended with status {self.process.returncode}: {' '.join(map(str, self.command))}"
                             + (f": {said[-1]}" if said else ""))

    def warm_up(self):
        """From its start to the first steps after the warm-up; returns the seconds of a step."""
        begun = time.monotonic()
        while True:
            time.sleep(0.1)
            self.check()
            steps = self.steps()
            if len(steps) > WARM_UP_STEPS and steps[-1] - steps[0] > WARM_UP:
                break
            if time.monotonic() - begun > STARTS:
                raise SystemExit(f"{len(steps)} steps in {STARTS} s: {' '.join(map(str, self.command))}")
        self.signal(signal.SIGSTOP)
        return (steps[-1] - steps[WARM_UP_STEPS]) / max(1, len(steps) - 1 - WARM_UP_STEPS)

    def turn(self, seconds):
        self.check()
        begin, before = time.monotonic(), benchlib.host_steal()
        self.signal(signal.SIGCONT)
        time.sleep(seconds)
        self.signal(signal.SIGSTOP)
        end = time.monotonic()
        self.turns.append((begin, end))
        self.stolen.append((benchlib.host_steal() - before) / (end - begin))

    def counts(self):
        """[(steps, seconds)] of the turns."""
        steps = self.steps()
        return [(sum(begin <= step < end for step in steps), end - begin) for begin, end in self.turns]

    def signal(self, number):
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass

    def end(self):
        """Its whole session, at once: what it leaves is in a folder that goes with it."""
        self.signal(signal.SIGKILL)
        self.process.wait()


def rate(counts):
    return sum(steps for steps, _ in counts) / sum(seconds for _, seconds in counts)


def ratio(rounds):
    """`rounds`: pairs of a turn of the base and one of the other."""
    base, other = map(rate, zip(*rounds))
    return other / base if base else math.inf


def gain(base, other, copies=None):
    """How many times as fast as `base`, and a 90 % interval. `copies`: of which each round was (all of one, where not
    given): copies are drawn again, and of each its rounds with all of their turns."""
    if not rate(base) or not rate(other):
        raise SystemExit("no step in any turn")
    by_copy = {}
    for copy, turns in zip(copies or [0] * len(base), zip(base, other)):
        by_copy.setdefault(copy, []).append(turns)
    again = random.Random(1)   # a page can be made again
    drawn = lambda some: ratio([turns for copy in some for turns in again.choices(copy, k=len(copy))])
    return ratio(zip(base, other)), *benchlib.interval(list(by_copy.values()), drawn, DRAWS, 0.9)


def known_well(gains):
    return all(low > 0 and math.log(high / low) / 2 <= ENOUGH for _, low, high in gains)


def quiet(stolen):
    """Which rounds count, of what was stolen from each variant in each round: in the end all, where too few were quiet."""
    rounds = list(zip(*stolen))
    calm = [number for number, turns in enumerate(rounds) if max(turns) <= STOLEN]
    return calm if len(calm) >= ROUNDS[0] or len(rounds) < MAX_ROUNDS else list(range(len(rounds)))


def in_rounds(of_copies, done):
    """Values of the copies' turns, in the order of rounds."""
    return [of_copies[number % COPIES][number // COPIES] for number in range(done)]


def compare(commands, folder, enough=lambda gains: known_well(gains.values())):
    """`commands`: {name: command}, the first of them the base. Returns the base's rate in steps a second,
    {name: (gain, low, high)} of the others, how many rounds count, and how many there were: until such gains are
    `enough`, or all rounds are over."""
    variants = {name: [] for name in commands}
    try:
        steps = {name: math.inf for name in commands}
        starts = [(name, copy) for name in commands for copy in range(COPIES)]
        for first in range(0, len(starts), TOGETHER):
            together = starts[first:first + TOGETHER]
            for number, (name, _) in enumerate(together, first):
                own = pathlib.Path(folder) / f"variant-{number}"
                own.mkdir()
                variants[name].append(Variant(commands[name], own))
            for name, copy in together:
                steps[name] = min(steps[name], variants[name][copy].warm_up())
        base, *others = variants
        seconds = max(TURN, TURN_STEPS * statistics.median(steps.values()))
        for done in itertools.count(1):
            for name in variants if done % 2 else reversed(variants):
                variants[name][(done - 1) % COPIES].turn(seconds)
            counted = quiet([in_rounds([copy.stolen for copy in copies], done) for copies in variants.values()])
            of_copy = [number % COPIES for number in counted]
            if done < MAX_ROUNDS and min(map(of_copy.count, range(COPIES))) < ROUNDS[0] // COPIES:
                continue
            counts = {}
            for name, copies in variants.items():
                turns = in_rounds([copy.counts() for copy in copies], done)
                counts[name] = [turns[number] for number in counted]
            gains = {name: gain(counts[base], counts[name], of_copy) for name in others}
            if len(counted) >= ROUNDS[1] or done >= MAX_ROUNDS or enough(gains):
                return rate(counts[base]), gains, len(counted), done
    finally:
        for copies in variants.values():
            for variant in copies:
                variant.end()
