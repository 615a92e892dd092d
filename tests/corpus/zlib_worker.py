# SPDX-License-Identifier: MIT
"""Compressed samples inflated by a single worker."""
import zlib

import numpy
import torch

from corpus import has, level
from corpus_torch import loader_of, made_before, perceptron, train

CAUSES = {
    "decompress": ("transform", ["transform.too_few_workers", "transform.cpu_saturated", "transform.slow_op"]),
    "one_worker": ("transform", ["transform.too_few_workers"], ["more_workers"]),
    "shared_memory": ("load", ["load.ipc"]),
}
COUNT, FEATURES = 512, 512


def main():
    random = numpy.random.default_rng(1)
    longer = level(15, 50, 230)
    packed = [zlib.compress(random.integers(0, 30, FEATURES * longer, dtype="i2").tobytes(), 1) for _ in range(32)]

    def sample(index):
        values = numpy.frombuffer(zlib.decompress(packed[index % 32]), "i2")[::longer]
        return torch.from_numpy(values.astype("f4")), index % 10

    train(loader_of(COUNT, sample if has("decompress") else made_before(COUNT, sample), shared=has("shared_memory"),
                    num_workers=1 if has("one_worker") else 2), perceptron(FEATURES, 360))


if __name__ == "__main__":
    main()
