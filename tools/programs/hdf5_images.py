# SPDX-License-Identifier: MIT
"""Images in compressed HDF5 chunks, read by two workers."""
import pathlib
import tempfile

import h5py
import numpy
import torch
from torch.utils.data import DataLoader, Dataset

from torch_training import train


def make(path, count=600, side=96):
    random = numpy.random.default_rng(1)
    with h5py.File(path, "w") as file:
        images = file.create_dataset("images", (count, side, side, 3), "u1", chunks=(1, side, side, 3),
                                     compression="gzip", compression_opts=4)
        for i in range(count):
            images[i] = random.integers(0, 255, (side // 4, side // 4, 3)).repeat(4, 0).repeat(4, 1)
        file["labels"] = random.integers(0, 10, count)


class Images(Dataset):
    def __init__(self, path):
        self.path, self.file = path, None
        with h5py.File(path) as file:
            self.count = len(file["labels"])

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if self.file is None:   # one handle a worker
            self.file = h5py.File(self.path)
        image = self.file["images"][index].astype("f4") / 255
        return torch.from_numpy(image).permute(2, 0, 1), int(self.file["labels"][index])


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "images.h5"
        make(path)
        loader = DataLoader(Images(path), batch_size=20, shuffle=True, num_workers=2)
        model = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 5, 2), torch.nn.ReLU(), torch.nn.Conv2d(16, 32, 5, 2),
                                    torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
                                    torch.nn.Linear(32, 10))
        optimizer = torch.optim.SGD(model.parameters(), 0.01)
        train(loader, model, optimizer, 20)


if __name__ == "__main__":
    main()
