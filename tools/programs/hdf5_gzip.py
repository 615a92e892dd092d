# SPDX-License-Identifier: MIT
"""Slices of an HDF5 file whose chunks are compressed, read in the loop."""
import pathlib
import tempfile

import h5py
import numpy
import torch

from own_clock import WITHOUT, OwnClock
from torch_training import update


def make(path):
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=numpy.random.default_rng(1).integers(0, 60, (2048, 64, 64), "u1"),
                            chunks=(32, 64, 64), compression="gzip", compression_opts=4)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(4096, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    with tempfile.TemporaryDirectory() as folder:
        make(pathlib.Path(folder) / "data.h5")
        images = h5py.File(pathlib.Path(folder) / "data.h5", "r")["x"]
        ready = images[:32]
        clock = OwnClock()
        for step in clock.steps():
            with clock.during("data"):
                at = step * 32 % 2048
                batch = ready if WITHOUT else images[at:at + 32]
            update(optimizer, model(torch.from_numpy(batch).float().flatten(1)).square().mean())
    clock.print()


if __name__ == "__main__":
    main()
