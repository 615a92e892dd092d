# SPDX-License-Identifier: MIT
"""The curve of the loss drawn by matplotlib and written to a file, again and again."""
import tempfile

import matplotlib
import torch

from corpus import has, level
from corpus_torch import perceptron, train_on_random

CAUSES = {
    "plot": ("periodic", ["periodic.logging"]),
    "checkpoint": ("periodic", ["periodic.checkpoint"]),
}


def main():
    matplotlib.use("Agg")
    from matplotlib import pyplot
    losses = []

    def learn(model, batch):
        loss = torch.nn.functional.cross_entropy(model(batch[0]), batch[1])
        losses.append(loss.detach())
        return loss

    def between(step, model, clock):
        if has("plot") and step % level(30, 8, 2) == 0:
            with clock.during("periodic"), tempfile.TemporaryFile() as file:
                figure, axes = pyplot.subplots()
                axes.plot([loss.item() for loss in losses[-200:]])
                figure.savefig(file, format="png")
                pyplot.close(figure)
        if has("checkpoint") and step % 50 == 49:
            with clock.during("periodic"), tempfile.TemporaryFile() as file:
                torch.save(model.state_dict(), file)

    train_on_random(perceptron(512), 512, between, learn)


if __name__ == "__main__":
    main()
