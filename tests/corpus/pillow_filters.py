# SPDX-License-Identifier: MIT
"""Photos augmented by filters of Pillow, in a transform that the one worker of a DataLoader calls for each."""
import random

import numpy
import torch
from PIL import Image, ImageEnhance, ImageFilter, ImageOps
from torch.utils.data import DataLoader, Dataset

from corpus import OwnClock, batches, has, level
from corpus_torch import classify

CAUSES = {
    "augment": ("transform", ["transform.too_few_workers", "transform.cpu_saturated", "transform.slow_op"]),
    "one_worker": ("transform", ["transform.too_few_workers"]),
}
COUNT, BATCH, SIDE, CROP = 256, 16, level(40, 52, 78), 32


class Augment:
    def __init__(self, crop, radius):
        self.crop, self.radius = crop, radius

    def __call__(self, image):
        if random.random() < 0.5:
            image = ImageOps.mirror(image)
        image = ImageOps.autocontrast(image.rotate(random.uniform(-15, 15), Image.BILINEAR))
        image = image.filter(ImageFilter.GaussianBlur(random.uniform(0.5, self.radius)))
        image = ImageEnhance.Color(image).enhance(random.uniform(0.7, 1.3)).filter(ImageFilter.MedianFilter(3))
        image = ImageOps.fit(image, (self.crop, self.crop), Image.BICUBIC)
        return torch.from_numpy(numpy.asarray(image, "f4").transpose(2, 0, 1) / 255)


class Photos(Dataset):
    def __init__(self, images, transform=None):
        self.images, self.transform = images, transform

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        image = self.images[index]
        return self.transform(image) if self.transform else image, index % 10


if __name__ == "__main__":
    noise = numpy.random.default_rng(1).integers(0, 256, (COUNT, SIDE, SIDE, 3), dtype="u1")
    photos, augment = [Image.fromarray(pixels) for pixels in noise], Augment(CROP, 2)
    dataset = Photos(photos, augment) if has("augment") else Photos([augment(photo) for photo in photos])
    workers = 1 if has("one_worker") else 2
    loader = DataLoader(dataset, BATCH, shuffle=True, num_workers=workers, persistent_workers=True)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 32, 5), torch.nn.ReLU(), torch.nn.Conv2d(32, 48, 3, stride=2),
                              torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(48 * 13 * 13, 10))
    optimizer, clock = torch.optim.Adam(net.parameters(), 1e-3), OwnClock()
    for images, labels in batches(clock, loader):
        classify(net, optimizer, images, labels)
    clock.print()
