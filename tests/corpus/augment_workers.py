# SPDX-License-Identifier: MIT
"""Images augmented by NumPy in as many workers as there are cores: rotation, noise, a blur by hand."""
import numpy
import torch

from corpus import has, level
from corpus_torch import loader_of, made_before, perceptron, train

CAUSES = {
    "augment": ("transform", ["transform.cpu_saturated", "transform.too_few_workers", "transform.slow_op"]),
    "evaluation": ("periodic", ["periodic.evaluation"]),
}
COUNT, SIDE = 512, 32


def main():
    images = numpy.random.default_rng(1).random((COUNT, SIDE, SIDE), dtype="f4")

    def sample(index):
        random = numpy.random.default_rng(index)
        image = numpy.rot90(images[index], random.integers(4))
        for _ in range(level(2, 8, 48)):
            noisy = image + random.normal(0, 0.02, image.shape)
            image = (noisy + numpy.roll(noisy, 1, 0) + numpy.roll(noisy, 1, 1)) / 3
        return torch.from_numpy(image.astype("f4").ravel()), index % 10

    held_out = torch.from_numpy(images[:32].reshape(32, -1))

    def between(step, model, clock):
        if has("evaluation") and step % 12 == 0:
            with clock.during("periodic"), torch.no_grad():
                model.eval()
                model(held_out).argmax(1)
                model.train()

    train(loader_of(COUNT, sample if has("augment") else made_before(COUNT, sample), num_workers=2),
          perceptron(SIDE * SIDE, 300), between)


if __name__ == "__main__":
    main()
