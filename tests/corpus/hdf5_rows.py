# SPDX-License-Identifier: MIT
"""Rows of a compressed HDF5 file, a chunk of it inflated for each batch, in the training process."""
import tempfile

import h5py
import numpy
import torch

from corpus import OwnClock, Repeatable, batches, has, level
from corpus_torch import classify, perceptron

CAUSES = {"gzip": ("transform extract", ["transform.in_process", "transform.slow_op"])}
FEATURES, ROWS, BATCHES = 512, 32, 30


def parts(values):
    for first in range(0, ROWS * BATCHES, ROWS):
        yield torch.from_numpy(values[first:first + ROWS, :FEATURES]), torch.arange(ROWS) % 10


def main():
    width = FEATURES * level(5, 20, 100)
    values = numpy.random.default_rng(1).integers(0, 40, (ROWS * BATCHES, width)).astype("f4")
    with tempfile.NamedTemporaryFile(suffix=".h5") as name, h5py.File(name.name, "w") as file:
        stored = file.create_dataset("values", data=values, chunks=(ROWS, width), compression="gzip", compression_opts=1)
        model, clock = perceptron(FEATURES), OwnClock()
        optimizer = torch.optim.SGD(model.parameters(), 0.01)
        source = Repeatable(parts, stored) if has("gzip") else list(parts(values))
        for inputs, labels in batches(clock, source):
            classify(model, optimizer, inputs, labels)
    clock.print()


if __name__ == "__main__":
    main()
