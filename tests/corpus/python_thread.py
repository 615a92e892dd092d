# SPDX-License-Identifier: MIT
"""Batches made ahead by a thread of the program's own, in Python that holds the interpreter's lock."""
import queue
import random
import threading

import torch

from corpus import OwnClock, Repeatable, batches, has, level
from corpus_torch import classify, perceptron

CAUSES = {"python": ("transform", ["transform.gil_bound", "transform.too_few_workers", "transform.slow_op"])}
FEATURES, ROWS = 256, 32


def rows():
    """A smoothed walk a row, value by value."""
    for _ in range(ROWS):
        walk, value = [], 0.0
        for _ in range(FEATURES):
            for _ in range(level(1, 8, 40)):
                value = 0.9 * value + random.random() - 0.5
            walk.append(value)
        yield walk


def ahead(make, depth=4):
    filled = queue.Queue(depth)

    def fill():
        while True:
            filled.put(make())

    threading.Thread(target=fill, daemon=True).start()
    while True:
        yield filled.get()


def main():
    ready = torch.tensor(list(rows()))
    source = ahead(lambda: torch.tensor(list(rows())) if has("python") else ready)
    model, clock = perceptron(FEATURES, 420), OwnClock()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for inputs in batches(clock, Repeatable(lambda: source)):
        classify(model, optimizer, inputs, torch.arange(ROWS) % 10)
    clock.print()


if __name__ == "__main__":
    main()
