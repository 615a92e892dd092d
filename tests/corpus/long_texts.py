# SPDX-License-Identifier: MIT
"""One text in sixty is very long, and its batch comes late; two workers."""
import random
import zlib

import torch

from corpus import has, level
from corpus_torch import loader_of, perceptron, train

CAUSES = {
    "long": ("transform", ["transform.slow_samples", "transform.stragglers"], ["even_samples"]),
    "short": ("transform", ["transform.too_few_workers", "transform.cpu_saturated", "transform.slow_op"]),
}
COUNT = 600


def main():
    random.seed(1)
    words = [f"word{i}" for i in range(3000)]
    longest = level(10000, 40000, 160000) if has("long") else 40
    texts = [" ".join(random.choices(words, k=longest if i % 60 == 7 else 40 if has("short") else 2)) for i in range(COUNT)]

    def sample(index):
        counts = [0.0] * 512
        for word in texts[index].split():
            counts[zlib.crc32(word.encode()) % 512] += 1
        return torch.tensor(counts), index % 10

    train(loader_of(COUNT, sample, 30, shuffle=True, num_workers=2), perceptron(512))


if __name__ == "__main__":
    main()
