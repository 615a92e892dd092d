# SPDX-License-Identifier: MIT
"""Images of half a megapixel in memory, augmented by NumPy in one worker: arrays of 3 MB are made and freed for each.

The program without what holds it back: the same samples, made once before the training."""
import numpy
import torch
from torch.utils.data import DataLoader, Dataset

from own_clock import WITHOUT
from torch_training import classifier, train

IMAGES = numpy.random.default_rng(1).integers(0, 255, (32, 512, 512, 3), dtype="u1")


def augmented(index):
    image = IMAGES[index % 32].astype("f4") / 255
    if index % 2:
        image = image[:, ::-1]
    image = (image - 0.45) / 0.22
    image = numpy.clip(image * 1.1 + 0.05, -3, 3)
    return torch.from_numpy(numpy.ascontiguousarray(image[::4, ::4].transpose(2, 0, 1)))


class Images(Dataset):
    def __init__(self):
        self.made = [augmented(index) for index in range(32)] if WITHOUT else None

    def __len__(self):
        return 4800

    def __getitem__(self, index):
        return self.made[index % 32] if self.made else augmented(index), index % 10


def main():
    torch.set_num_threads(1)
    model, optimizer = classifier(torch.nn.Conv2d(3, 8, 3, 2), torch.nn.AdaptiveAvgPool2d(8), 512)
    train(DataLoader(Images(), 16, num_workers=1, persistent_workers=True), model, optimizer, 1)


if __name__ == "__main__":
    main()
