# SPDX-License-Identifier: MIT
"""A control: what a worker does takes long and is hidden behind a longer step."""
import zlib

import numpy
import torch

from corpus import has, level
from corpus_torch import loader_of, made_before, perceptron, train

CAUSES = {
    "decompress": ("transform", ["transform.too_few_workers", "transform.cpu_saturated"]),
    "one_worker": ("transform", ["transform.too_few_workers"], ["more_workers"]),
}


def main():
    packed = zlib.compress(numpy.random.default_rng(1).integers(0, 30, 512 * 12, dtype="i2").tobytes(), 1)

    def sample(index):
        return torch.from_numpy(numpy.frombuffer(zlib.decompress(packed), "i2")[:512].astype("f4")), index % 10

    train(loader_of(512, sample if has("decompress") else made_before(512, sample), num_workers=1 if has("one_worker") else 2),
          perceptron(512, level(500, 600, 700)))


if __name__ == "__main__":
    main()
