# SPDX-License-Identifier: MIT
"""Samples drawn by weights that sink with each draw, by a sampler in Python."""
import itertools
import random

import torch

from corpus import has, level
from corpus_torch import loader_of, perceptron, train

CAUSES = {"sampler": ("transform", ["transform.in_process", "transform.slow_op"])}
SAMPLES, FEATURES = level(3000, 11000, 46000), 128


class FreshFirst:
    """Indices, `count` an epoch: what was drawn lately becomes less likely."""

    def __init__(self, weights, count, decay=0.9):
        self.weights, self.count, self.decay = list(weights), count, decay

    def __iter__(self):
        for _ in range(self.count):
            cumulative = list(itertools.accumulate(self.weights))
            index, = random.choices(range(len(cumulative)), cum_weights=cumulative)
            self.weights[index] *= self.decay
            yield index

    def __len__(self):
        return self.count


def residual_blocks():
    class Block(torch.nn.Module):
        def __init__(self, width):
            super().__init__()
            self.inner = torch.nn.Sequential(torch.nn.LayerNorm(width), perceptron(width, 256, width))

        def forward(self, inputs):
            return inputs + self.inner(inputs)

    return torch.nn.Sequential(Block(FEATURES), Block(FEATURES), torch.nn.Linear(FEATURES, 10))


def main():
    random.seed(1)
    inputs, labels = torch.randn(SAMPLES, FEATURES), torch.randint(0, 10, (SAMPLES,))
    rarity = 1 / labels.bincount(minlength=10)
    sampler = FreshFirst(rarity[labels].tolist(), 2048)
    if not has("sampler"):
        sampler = random.choices(range(SAMPLES), k=2048)
    train(loader_of(SAMPLES, lambda index: (inputs[index], labels[index]), sampler=sampler), residual_blocks())


if __name__ == "__main__":
    main()
