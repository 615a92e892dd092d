# SPDX-License-Identifier: MIT
"""Volumes in a zarr store, chunks compressed, read in the training process."""
import tempfile

import numpy
import torch
import zarr
from torch.utils.data import DataLoader, Dataset

from torch_training import classifier, train


class Volumes(Dataset):
    def __init__(self, folder, count=200):
        random = numpy.random.default_rng(1)
        self.data = zarr.create_array(folder + "/volumes.zarr", shape=(count, 32, 64, 64), chunks=(1, 16, 64, 64),
                                      dtype="f4")
        for i in range(count):
            self.data[i] = random.standard_normal((4, 8, 8)).astype("f4").repeat(8, 0).repeat(8, 1).repeat(8, 2)

    def __len__(self):
        return self.data.shape[0]

    def __getitem__(self, index):
        volume = self.data[index]
        volume = (volume - volume.mean()) / volume.std()
        return torch.from_numpy(numpy.flip(volume, 2).copy())[None], index % 4


def main():
    with tempfile.TemporaryDirectory() as folder:
        loader = DataLoader(Volumes(folder), batch_size=8, shuffle=True)
        train(loader, *classifier(torch.nn.Conv3d(1, 8, 5, 4), torch.nn.AdaptiveAvgPool3d(2), 64, 4), 40)


if __name__ == "__main__":
    main()
