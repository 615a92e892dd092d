# SPDX-License-Identifier: MIT
"""Accuracy counted element by element with .item(), and moments of the gradients for a log."""
import torch

from corpus import has, level
from corpus_torch import perceptron, train_on_random

CAUSES = {
    "items": ("compute", ["compute.after_update", "compute.small_ops", "compute.python_overhead"]),
    "moments": ("compute", ["compute.after_update", "compute.small_ops", "compute.python_overhead"]),
}
CLASSES = level(12, 40, 160)


def main():
    counted = [0, 0]

    def learn(model, batch):
        outputs = model(batch[0])
        if has("items"):
            for row in range(len(outputs)):
                best = max(range(CLASSES), key=lambda column: outputs[row, column].item())
                counted[0] += best == batch[1][row].item()
                counted[1] += 1
        return torch.nn.functional.cross_entropy(outputs, batch[1])

    def between(step, model, clock):
        if has("moments") and step % 20 == 0:
            [(p.grad.mean().item(), p.grad.std().item()) for p in model.parameters()]

    train_on_random(perceptron(512, 360, CLASSES), 512, between, learn)


if __name__ == "__main__":
    main()
