# SPDX-License-Identifier: MIT
"""A thread of the program's own that draws the losses as text now and then, in Python that holds the interpreter's lock."""
import collections
import threading
import time

import torch

from corpus import has, level
from corpus_torch import perceptron, train_on_random

CAUSES = {"chart": ("compute", ["compute.gil_bound"])}
WIDTH = 120


def draw(losses):
    """A row a loss, a bar as long as it is large."""
    return "\n".join(f"{at} " + "".join("#" if place < loss * 20 else "." for place in range(WIDTH))
                     for at, loss in enumerate(losses))


def main():
    losses = collections.deque([0.5] * 8000, maxlen=8000)

    def keep_drawing():
        while True:
            draw(list(losses))
            time.sleep(level(0.2, 0.075, 0.02))

    def learn(model, batch):
        loss = torch.nn.functional.cross_entropy(model(batch[0]), batch[1])
        losses.append(loss.item())
        return loss

    if has("chart"):
        threading.Thread(target=keep_drawing, daemon=True).start()
    train_on_random(perceptron(128), 128, learn=learn)


if __name__ == "__main__":
    main()
