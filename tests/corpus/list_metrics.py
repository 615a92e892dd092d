# SPDX-License-Identifier: MIT
"""A confusion matrix and a running mean kept in plain Python lists, sample by sample, in each step."""
import torch

from corpus import has, level
from corpus_torch import perceptron, train_on_random

CAUSES = {
    "lists": ("compute", ["compute.after_update", "compute.python_overhead"]),
    "norms": ("compute", ["compute.after_update", "compute.small_ops", "compute.python_overhead"]),
}


def main():
    matrix = [[0] * 10 for _ in range(10)]
    recent = []

    def learn(model, batch):
        outputs = model(batch[0])
        if has("lists"):
            recent.extend(value for row in outputs.tolist() for value in row)
            del recent[:-2000]
            for _ in range(level(8, 34, 140)):
                mean = sum(recent) / len(recent)
                spread = sum((value - mean) ** 2 for value in recent[:1000])
            for best, right in zip(outputs.argmax(1).tolist(), batch[1].tolist()):
                matrix[right][best] += spread > 0
        return torch.nn.functional.cross_entropy(outputs, batch[1])

    def between(step, model, clock):
        if has("norms") and step % 10 == 0:
            [p.grad.norm().item() for p in model.parameters()]

    train_on_random(perceptron(512), 512, between, learn)


if __name__ == "__main__":
    main()
