# SPDX-License-Identifier: MIT
"""A control: a metric element by element and checkpoints cost about the same."""
import tempfile

import torch

from corpus import has, level
from corpus_torch import perceptron, train_on_random

CAUSES = {
    "items": ("compute", ["compute.after_update", "compute.small_ops", "compute.python_overhead"]),
    "checkpoint": ("periodic", ["periodic.checkpoint"]),
}


def main():
    buffer = torch.randn(1000, 1024)

    def learn(model, batch):
        outputs = model(batch[0])
        if has("items"):
            sum(outputs[i % 32, i % 10].item() > 0 for i in range(level(350, 1700, 9000)))
        return torch.nn.functional.cross_entropy(outputs, batch[1])

    def between(step, model, clock):
        if has("checkpoint") and step % level(3, 1, 1) == 0:
            with clock.during("periodic"):
                for _ in range(level(1, 2, 6)):
                    with tempfile.TemporaryFile() as file:
                        torch.save({"model": model.state_dict(), "buffer": buffer}, file)

    train_on_random(perceptron(512), 512, between, learn)


if __name__ == "__main__":
    main()
