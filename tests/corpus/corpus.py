# SPDX-License-Identifier: MIT
"""What the programs of the corpus share: their options, how long they run, their own clock.

Each takes `--severity 1|2|3` and any number of `--without CAUSE`, where CAUSE is a key of its CAUSES."""
import argparse
import ast
import itertools
import multiprocessing
import pathlib
import queue
import struct
import sys
import threading
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tools/programs"))

import own_clock  # noqa: E402


def setting(text):
    name, value = text.split("=", 1)
    return name, ast.literal_eval(value)


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--severity", type=int, choices=(1, 2, 3), default=2)
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("--set", action="append", default=[], type=setting, help="of the DataLoader: NAME=VALUE")
    parser.add_argument("--beside", choices=("thread", "process"), help="batches that the loop makes itself: made there, ahead")
    parser.add_argument("--seconds", type=float, default=15, help="of training: hundreds of steps after the warm-up, and of samples")
    parser.add_argument("--steps-to", metavar="FILE", help="append there when each step begins: monotonic time, 8 bytes")
    return parser.parse_args()


OPTIONS = options()
SECONDS = OPTIONS.seconds


class Begins(list):
    """Of steps; each is also appended to the file that was asked for."""

    def __init__(self):
        super().__init__()
        self.file = open(OPTIONS.steps_to, "ab", buffering=0) if OPTIONS.steps_to else None

    def append(self, begin):
        super().append(begin)
        if self.file:
            self.file.write(struct.pack("d", begin))


class OwnClock(own_clock.OwnClock):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.begins = Begins()


def level(*amounts):
    """Of three amounts that of this severity: without the cause it is meant to be 1.15, 1.5, 3 times as fast."""
    return amounts[OPTIONS.severity - 1]


def has(cause):
    unknown = {cause, *OPTIONS.without} - set(sys.modules["__main__"].CAUSES)
    if unknown:
        raise SystemExit(f"no such cause here: {', '.join(sorted(unknown))}")
    return cause not in OPTIONS.without


def put_all(make, ready):
    for step in itertools.count():
        ready.put(make(step))


def ahead(make):
    """`make(step)` makes the batches of steps 0, 1, ... Where it is asked for, a thread or a process of its own does,
    up to two ahead; what comes back has to be called in the same order."""
    if not OPTIONS.beside:
        return make
    if OPTIONS.beside == "thread":
        ready = queue.Queue(2)
        maker = threading.Thread(target=put_all, args=(make, ready), daemon=True)
    else:
        context = multiprocessing.get_context("fork")   # `make` need not be picklable
        ready = context.Queue(2)
        maker = context.Process(target=put_all, args=(make, ready), daemon=True)
    maker.start()
    return lambda step: ready.get()


def batches(clock, loader):
    """Epochs of a loader for so long; what is waited for it is the clock's `data`."""
    until = time.monotonic() + SECONDS
    if OPTIONS.beside:
        endless = itertools.chain.from_iterable(itertools.repeat(loader))
        loader = map(ahead(lambda step: next(endless)), itertools.count())
    while time.monotonic() < until:
        for batch in clock.batches(loader):
            yield batch
            if time.monotonic() > until:
                clock.stop()
                break


class Repeatable:
    """A generator function as a loader of many epochs."""

    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __iter__(self):
        return iter(self.function(*self.arguments))


__all__ = ["OwnClock", "SECONDS", "OPTIONS", "Repeatable", "ahead", "batches", "has", "level"]
