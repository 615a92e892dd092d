# SPDX-License-Identifier: MIT
"""gc.collect() every few steps beside a large heap of Python objects."""
import gc

import torch

from corpus import has, level
from corpus_torch import perceptron, train_on_random

CAUSES = {"garbage": ("periodic", ["periodic.gc"])}


def main():
    records = [{"index": i, "words": [str(i), str(i + 1)]} for i in range(20000)]

    def between(step, model, clock):
        if has("garbage") and step % level(20, 6, 1) == 0:
            with clock.during("periodic"):
                gc.collect()

    train_on_random(perceptron(512), 512, between)
    return len(records)


if __name__ == "__main__":
    main()
