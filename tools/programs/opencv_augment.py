# SPDX-License-Identifier: MIT
"""JPEG files decoded by OpenCV and augmented by albumentations in two workers."""
import pathlib
import tempfile

import albumentations
import cv2
import numpy
import torch
from torch.utils.data import DataLoader, Dataset

from torch_training import classifier, train


def make(folder, count=300, side=320):
    random = numpy.random.default_rng(1)
    for i in range(count):
        noise = random.integers(0, 255, (side // 8, side // 8, 3), "u1")
        cv2.imwrite(str(folder / f"{i:05}.jpg"), cv2.resize(noise, (side, side)))


class Photos(Dataset):
    def __init__(self, folder):
        self.files = sorted(folder.glob("*.jpg"))
        self.augment = albumentations.Compose([
            albumentations.RandomCrop(224, 224), albumentations.HorizontalFlip(),
            albumentations.Affine(rotate=(-15, 15)), albumentations.GaussianBlur(),
            albumentations.Normalize()])

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        image = cv2.cvtColor(cv2.imread(str(self.files[index])), cv2.COLOR_BGR2RGB)
        image = self.augment(image=image)["image"]
        return torch.from_numpy(numpy.ascontiguousarray(image.transpose(2, 0, 1))), index % 10


def main():
    with tempfile.TemporaryDirectory() as folder:
        make(pathlib.Path(folder))
        loader = DataLoader(Photos(pathlib.Path(folder)), batch_size=15, shuffle=True, num_workers=2)
        train(loader, *classifier(torch.nn.Conv2d(3, 8, 7, 4), torch.nn.AdaptiveAvgPool2d(4), 128), 16)


if __name__ == "__main__":
    main()
