# SPDX-License-Identifier: MIT
"""fastai: three epochs of its Learner over loaders of its own. usage: fastai_fit.py [--workers N]"""
import json
import sys

import torch
from fastai.basics import DataLoaders, Learner

EPOCHS, SAMPLES, VALIDATION, BATCH = 3, 2000, 200, 20


class Numbers:
    def __init__(self, length):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        if index >= self.length:
            raise IndexError
        return torch.full((64,), index / self.length), torch.tensor([float(index % 2)])


def main():
    workers = int(sys.argv[2]) if sys.argv[1:2] == ['--workers'] else 0
    loaders = DataLoaders.from_dsets(Numbers(SAMPLES), Numbers(VALIDATION), bs=BATCH, num_workers=workers, device='cpu')
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 1))
    Learner(loaders, model, loss_func=torch.nn.MSELoss(), lr=1e-3).fit(EPOCHS)
    print(json.dumps({'steps': EPOCHS * SAMPLES // BATCH, 'batches': EPOCHS * (SAMPLES + VALIDATION) // BATCH}))


if __name__ == '__main__':
    main()
