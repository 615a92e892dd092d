# SPDX-License-Identifier: MIT
"""JPEGs in an LMDB, decoded by two workers."""
import io
import tempfile

import lmdb
import numpy
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

from torch_training import train


def make(path, count=400, side=256):
    random = numpy.random.default_rng(1)
    with lmdb.open(path, map_size=1 << 30) as store, store.begin(write=True) as rows:
        for i in range(count):
            noise = random.integers(0, 255, (side // 8, side // 8, 3), "u1")
            out = io.BytesIO()
            Image.fromarray(noise).resize((side, side)).save(out, "JPEG", quality=90)
            rows.put(b"%08d" % i, out.getvalue())


class Photos(Dataset):
    def __init__(self, path, count):
        self.path, self.count, self.store = path, count, None

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if self.store is None:
            self.store = lmdb.open(self.path, readonly=True, lock=False)
        with self.store.begin() as rows:
            photo = Image.open(io.BytesIO(rows.get(b"%08d" % index))).convert("RGB")
        photo = photo.resize((112, 112), Image.BICUBIC).rotate(index % 20)
        return torch.from_numpy(numpy.array(photo)).permute(2, 0, 1).float() / 255, index % 10


def main():
    with tempfile.TemporaryDirectory() as folder:
        make(folder)
        loader = DataLoader(Photos(folder, 400), batch_size=20, shuffle=True, num_workers=2)
        model = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 5, 2), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(4),
                                    torch.nn.Flatten(), torch.nn.Linear(256, 10))
        optimizer = torch.optim.Adam(model.parameters())
        train(loader, model, optimizer, 15)


if __name__ == "__main__":
    main()
