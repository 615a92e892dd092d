# SPDX-License-Identifier: MIT
"""Workers that send large batches of floats, of which the step needs a few pixels. Without: they send what it needs."""
import torch

from corpus import has, level
from corpus_torch import loader_of, perceptron, train

CAUSES = {
    "floats": ("load transform", ["load.ipc", "transform.cpu_saturated", "transform.too_few_workers"], ["uint8_batches"]),
    "one_worker": ("transform", ["transform.too_few_workers"], ["more_workers"]),
}


def main():
    images = torch.randint(0, 255, (128, 3, level(60, 130, 420), 100), dtype=torch.uint8)

    def sample(index):
        image = images[index % 128] if has("floats") else images[index % 128, :, ::8, ::8]
        return image.float() / 255, index % 10

    def learn(model, batch):
        small = batch[0][:, :, ::8, ::8] if has("floats") else batch[0]
        return torch.nn.functional.cross_entropy(model(small.flatten(1)[:, :256]), batch[1])

    train(loader_of(512, sample, num_workers=1 if has("one_worker") else 2), perceptron(256, 420), learn=learn)


if __name__ == "__main__":
    main()
