# SPDX-License-Identifier: MIT
"""Texts cut into words by regular expressions in a single worker, hashed and averaged as embeddings."""
import random
import re
import zlib

import torch

from corpus import has, level
from corpus_torch import loader_of, made_before, perceptron, train

CAUSES = {
    "tokenize": ("transform", ["transform.too_few_workers", "transform.cpu_saturated", "transform.slow_op"]),
    "one_worker": ("transform", ["transform.too_few_workers"], ["more_workers"]),
}
COUNT = 256
WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?|\d+(?:[.,]\d+)*|[^\w\s]")


def main():
    random.seed(1)
    words = [f"word{i}'s" if i % 3 else f"{i}.{i % 7}" for i in range(3000)]
    texts = [", ".join(random.choices(words, k=level(170, 230, 480))) for _ in range(COUNT)]

    def sample(index):
        counts = [0.0] * 512
        for token in WORD.findall(texts[index].lower()):
            counts[zlib.crc32(token.encode()) % 512] += 1
        return torch.tensor(counts), index % 10

    train(loader_of(COUNT, sample if has("tokenize") else made_before(COUNT, sample),
                    num_workers=1 if has("one_worker") else 2), perceptron(512))


if __name__ == "__main__":
    main()
