# SPDX-License-Identifier: MIT
"""Copies of the model kept in Python after each step, and their parameters averaged by hand."""
import copy

import torch

from corpus import has, level
from corpus_torch import perceptron, train_on_random

CAUSES = {"copies": ("compute", ["compute.after_update", "compute.python_overhead", "compute.small_ops"])}


def main():
    kept = []

    def between(step, model, clock):
        if has("copies"):
            for _ in range(level(1, 6, 24)):
                kept.append(copy.deepcopy(model))
                del kept[:-3]
                with torch.no_grad():
                    [torch.stack(same).mean(0) for same in zip(*(m.parameters() for m in kept))]

    train_on_random(perceptron(512), 512, between)


if __name__ == "__main__":
    main()
