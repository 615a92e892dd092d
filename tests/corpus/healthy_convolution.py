# SPDX-License-Identifier: MIT
"""A control: a convolution that takes all of the time; its samples are light, and so is what else there is."""
import torch

from corpus import has, level
from corpus_torch import loader_of, made_before, train

CAUSES = {
    "samples": ("transform", ["transform.in_process"]),
    "log": ("periodic", ["periodic.logging"]),
}


def main():
    images = torch.randn(256, 3, 24, 24)

    def sample(index):
        return images[index] * 0.5 + 0.1, index % 10

    model = torch.nn.Sequential(torch.nn.Conv2d(3, 24, 5), torch.nn.ReLU(), torch.nn.Conv2d(24, level(16, 24, 40), 5),
                                torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
                                torch.nn.Linear(level(16, 24, 40), 10))

    def between(step, model, clock):
        if has("log") and step % 10 == 0:
            with clock.during("periodic"):
                print("step", step, flush=True)

    train(loader_of(256, sample if has("samples") else made_before(256, sample)), model, between)


if __name__ == "__main__":
    main()
