# SPDX-License-Identifier: MIT
"""Batches that are slow in groups, from one worker that is at most one batch ahead."""
import zlib

import numpy
import torch

from corpus import has, level
from corpus_torch import loader_of, perceptron, train

CAUSES = {
    "one_ahead": ("load transform", ["load.no_prefetch", "transform.stragglers"], ["more_prefetch"]),
    "uneven": ("load transform", ["load.no_prefetch", "transform.stragglers", "transform.slow_samples"], ["even_batches"]),
}
ROWS = 16


def main():
    packed = zlib.compress(numpy.random.default_rng(1).integers(0, 30, 8192, dtype="i2").tobytes(), 1)
    slow = level(4, 7, 10)

    def sample(index):
        times = (slow if index // ROWS % 8 >= 5 else 1) if has("uneven") else 1 + 3 * (slow - 1) / 8
        for _ in range(round(times)):
            values = numpy.frombuffer(zlib.decompress(packed), "i2")
        return torch.from_numpy(values[:512].astype("f4")), index % 10

    train(loader_of(ROWS * 64, sample, ROWS, num_workers=1, prefetch_factor=1 if has("one_ahead") else 8), perceptron(512, 560))


if __name__ == "__main__":
    main()
