# SPDX-License-Identifier: MIT
"""Records parsed from JSON by a multiprocessing pool of one process, ahead of the training."""
import json
import multiprocessing
import random

import torch

from corpus import OwnClock, Repeatable, batches, has, level
from corpus_torch import classify, perceptron

CAUSES = {
    "parse": ("transform", ["transform.too_few_workers", "transform.cpu_saturated", "transform.slow_op"]),
    "one_process": ("transform", ["transform.too_few_workers"]),
}
FEATURES, ROWS = 256, 32
notes = [f"note {i}" for i in range(level(4200, 5600, 11000))]


def parsed(text):
    values = [0.0] * FEATURES
    for index, note in enumerate(json.loads(text)["notes"]):
        values[(len(note) * 31 + index) % FEATURES] += 1
    return values


def batch(texts):
    return torch.tensor([parsed(text) if isinstance(text, str) else text for text in texts])


def main():
    random.seed(1)
    texts = [json.dumps({"notes": random.sample(notes, len(notes) // 2)}) for _ in range(ROWS)]
    given = texts if has("parse") else [parsed(text) for text in texts]
    model, clock = perceptron(FEATURES, 420), OwnClock()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    with multiprocessing.Pool(1 if has("one_process") else 2) as pool:
        for inputs in batches(clock, Repeatable(lambda: pool.imap(batch, [given] * 60))):
            classify(model, optimizer, inputs, torch.arange(ROWS) % 10)
    clock.print()


if __name__ == "__main__":
    main()
