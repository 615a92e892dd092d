# SPDX-License-Identifier: MIT
"""PyTorch with no loader: batches of compressed .npz files, read and prepared in the loop itself."""
import pathlib
import tempfile

import numpy
import torch

from own_clock import OwnClock


def make(folder, count=60):
    random = numpy.random.default_rng(1)
    for i in range(count):
        images = random.integers(0, 255, (24, 3, 12, 12), "u1").repeat(8, 2).repeat(8, 3)
        numpy.savez_compressed(folder / f"{i:03}.npz", images=images, labels=random.integers(0, 10, 24))


def read(path):
    with numpy.load(path) as file:
        images, labels = file["images"], file["labels"]
    images = images[:, :, ::-1].astype("f4") / 255
    return torch.from_numpy((images - images.mean()) / images.std()), torch.from_numpy(labels)


def main():
    with tempfile.TemporaryDirectory() as folder:
        make(pathlib.Path(folder))
        files = sorted(pathlib.Path(folder).glob("*.npz"))
        model = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 5, 2), torch.nn.ReLU(), torch.nn.Conv2d(16, 32, 5, 2),
                                    torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
                                    torch.nn.Linear(32, 10))
        optimizer = torch.optim.Adam(model.parameters())
        clock = OwnClock()
        for path in files * 20:
            clock.step()
            with clock.during("data"):
                images, labels = read(path)
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()
        clock.stop()
    clock.print()


if __name__ == "__main__":
    main()
