#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trains on random crops of raw volumes that are read whole, past the page cache, as a data set
larger than memory is: the disk's bandwidth is the limit, and more workers cannot help. Storing the
volumes as bytes instead of floats (`--dtype uint8`) moves a quarter of the data."""
import argparse
import mmap
import os

import torch

from training import train

SIDE = 128           # a volume is SIDE^3 voxels: 8 MiB of floats, 2 MiB of bytes
PIECE = 1 << 20      # bytes a read call
CROP = 32
TYPES = {'float32': torch.float32, 'uint8': torch.uint8}


class Volumes(torch.utils.data.Dataset):
    def __init__(self, folder, count, kind):
        self.kind, self.count = TYPES[kind], count
        self.folder = os.path.join(folder, kind)
        self.buffer = None
        self.make_missing()

    def path(self, index):
        return os.path.join(self.folder, '%04d.raw' % index)

    def make_missing(self):
        os.makedirs(self.folder, exist_ok=True)
        for index in range(self.count):
            if os.path.exists(self.path(index)):
                continue
            dice = torch.Generator().manual_seed(index)
            volume = torch.rand((SIDE,) * 3, generator=dice)
            if self.kind is torch.uint8:
                volume = (volume * 255).to(torch.uint8)
            with open(self.path(index) + '.part', 'wb') as file:
                file.write(volume.numpy().tobytes())
                os.fsync(file.fileno())
            os.replace(self.path(index) + '.part', self.path(index))

    def __len__(self):
        return self.count

    def read(self, path):
        """The whole file into `self.buffer`, around the page cache."""
        size = os.path.getsize(path)
        if self.buffer is None:
            self.buffer = mmap.mmap(-1, size)  # page aligned, as O_DIRECT wants it
        try:
            file = os.open(path, os.O_RDONLY | os.O_DIRECT)
        except OSError:  # tmpfs and some network file systems have no O_DIRECT
            file = os.open(path, os.O_RDONLY)
        view = memoryview(self.buffer)
        for at in range(0, size, PIECE):
            os.preadv(file, [view[at:at + PIECE]], at)
        os.close(file)
        return torch.frombuffer(self.buffer, dtype=self.kind).view((SIDE,) * 3)

    def __getitem__(self, index):
        volume = self.read(self.path(index))
        x, y, z = torch.randint(0, SIDE - CROP, (3,)).tolist()
        crop = volume[x:x + CROP, y:y + CROP, z:z + CROP].clone().float()
        return crop.unsqueeze(0), index % 2


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--data', default='demo-data/volumes')
    parser.add_argument('--volumes', type=int, default=64)
    parser.add_argument('--crops', type=int, default=640, help='drawn an epoch')
    parser.add_argument('--epochs', type=int, default=6)
    parser.add_argument('--batch-size', type=int, default=16)
    parser.add_argument('--workers', type=int, default=2)
    parser.add_argument('--dtype', choices=sorted(TYPES), default='float32')
    args = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(1)
    data = Volumes(args.data, args.volumes, args.dtype)
    draw = torch.utils.data.RandomSampler(data, replacement=True, num_samples=args.crops)
    loader = torch.utils.data.DataLoader(data, batch_size=args.batch_size, sampler=draw,
                                         num_workers=args.workers,
                                         persistent_workers=args.workers > 0)
    model = torch.nn.Sequential(torch.nn.Conv3d(1, 8, 3, stride=2), torch.nn.ReLU(),
                                torch.nn.Conv3d(8, 16, 3, stride=2), torch.nn.ReLU(),
                                torch.nn.AdaptiveAvgPool3d(1), torch.nn.Flatten(),
                                torch.nn.Linear(16, 2))
    train(loader, model, args.epochs)


if __name__ == '__main__':
    main()
