# SPDX-License-Identifier: MIT
"""A training that evaluates on held-out data every few steps, and saves what is best."""
import tempfile

import torch

from corpus import has, level
from corpus_torch import perceptron, train_on_random

CAUSES = {
    "evaluation": ("periodic", ["periodic.evaluation"]),
    "checkpoint": ("periodic", ["periodic.checkpoint"]),
}


def main():
    held_out, answers = torch.randn(level(90, 300, 1200), 512), torch.randint(0, 10, (level(90, 300, 1200),))

    def between(step, model, clock):
        if has("evaluation") and step % 10 == 9:
            with clock.during("periodic"), torch.no_grad():
                model.eval()
                hits = sum((model(part).argmax(1) == right).sum().item()
                           for part, right in zip(held_out.split(32), answers.split(32)))
                model.train()
                hits / len(answers)
        if has("checkpoint") and step % 60 == 59:
            with clock.during("periodic"), tempfile.TemporaryFile() as file:
                torch.save(model.state_dict(), file)

    train_on_random(perceptron(512, 360), 512, between)


if __name__ == "__main__":
    main()
