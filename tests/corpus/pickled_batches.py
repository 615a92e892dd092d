# SPDX-License-Identifier: MIT
"""A pickled file of Python objects a batch, loaded in the loop before each step."""
import pathlib
import pickle
import random
import tempfile

import torch

from corpus import OwnClock, SECONDS, ahead, has, level
from corpus_torch import classify, perceptron

CAUSES = {"unpickle": ("transform extract load", ["transform.in_process", "transform.slow_op", "load.ipc"])}
FEATURES, ROWS, FILES = 256, 32, 12


def batch_of(records):
    return torch.tensor([record["values"] for record in records]), torch.tensor([record["label"] for record in records])


def main():
    random.seed(1)
    with tempfile.TemporaryDirectory() as folder:
        paths = [pathlib.Path(folder) / f"{i}.pickle" for i in range(FILES)]
        for path in paths:
            path.write_bytes(pickle.dumps([
                {"values": [random.random() for _ in range(FEATURES)], "label": random.randrange(10),
                 "notes": [(str(i), random.random()) for i in range(level(60, 900, 6000))]} for _ in range(ROWS)]))
        model, clock = perceptron(FEATURES), OwnClock()
        optimizer = torch.optim.SGD(model.parameters(), 0.01)
        ready = batch_of(pickle.loads(paths[0].read_bytes()))

        def batch(step):
            if not has("unpickle"):
                return ready
            with open(paths[step % FILES], "rb") as file:
                return batch_of(pickle.load(file))

        batch = ahead(batch)
        for step in clock.steps(SECONDS):
            with clock.during("data"):
                inputs, labels = batch(step)
            classify(model, optimizer, inputs, labels)
    clock.print()


if __name__ == "__main__":
    main()
