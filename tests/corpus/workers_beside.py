# SPDX-License-Identifier: MIT
"""More workers than there is work for: what they do ahead takes cores from a step of two threads."""
import numpy
import torch

from corpus import has, level
from corpus_torch import loader_of, made_before, perceptron, train

CAUSES = {
    "samples": ("compute transform", ["compute.contention", "transform.cpu_saturated"]),
    "two_threads": ("compute", ["compute.oversubscribed", "compute.contention"]),
}


def main():
    torch.set_num_threads(2 if has("two_threads") else 1)

    def sample(index):
        values = numpy.random.default_rng(index).random(512)
        for _ in range(level(5, 15, 40)):
            values = numpy.sort(values * 1.1 % 1)
        return torch.from_numpy(values.astype("f4")), index % 10

    train(loader_of(1024, sample if has("samples") else made_before(1024, sample), num_workers=3), perceptron(512, 512))


if __name__ == "__main__":
    main()
