# SPDX-License-Identifier: MIT
"""Gzipped JSON lines parsed in the loop itself; a line of the log for each step."""
import gzip
import json
import logging
import random
import tempfile

import torch

from corpus import OwnClock, Repeatable, batches, has, level
from corpus_torch import perceptron

CAUSES = {
    "parse": ("transform", ["transform.in_process", "transform.slow_op"]),
    "log": ("periodic", ["periodic.logging"]),
}
FEATURES, ROWS = 256, 32


def make(path):
    random.seed(1)
    notes = [f"word{random.randrange(1000)}" for _ in range(level(20, 1200, 5500))]
    with gzip.open(path, "wt", compresslevel=1) as out:
        for _ in range(20 * ROWS):
            row = {"values": [round(random.random(), 4) for _ in range(FEATURES)], "label": random.randrange(10),
                   "notes": notes}
            out.write(json.dumps(row) + "\n")


def read(path):
    """Batches, a line a sample."""
    with gzip.open(path, "rt") as lines:
        while rows := [json.loads(line) for line, _ in zip(lines, range(ROWS))]:
            yield torch.tensor([row["values"] for row in rows]), torch.tensor([row["label"] for row in rows])


def main():
    with tempfile.NamedTemporaryFile(suffix=".gz") as file, tempfile.NamedTemporaryFile("w") as log:
        make(file.name)
        logging.basicConfig(stream=log, level=logging.INFO)
        model = perceptron(FEATURES, 360)
        optimizer = torch.optim.SGD(model.parameters(), 0.01)
        clock = OwnClock()
        source = Repeatable(read, file.name) if has("parse") else list(read(file.name))
        for step, (inputs, labels) in enumerate(batches(clock, source)):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(inputs), labels)
            loss.backward()
            optimizer.step()
            if has("log"):
                with clock.during("periodic"):
                    logging.info("step %d: loss %.4f", step, loss.item())
    clock.print()


if __name__ == "__main__":
    main()
