# SPDX-License-Identifier: MIT
"""A training of many small steps for bench_overhead: samples made in the step's own process, one epoch.

usage: small_steps.py SECONDS"""
import sys
import time

import torch
from torch.utils.data import DataLoader, IterableDataset


class Squares(IterableDataset):
    def __init__(self, seconds):
        self.seconds = seconds

    def __iter__(self):
        end = time.monotonic() + self.seconds
        while time.monotonic() < end:
            sample = torch.randn(48, 48)
            yield (sample @ sample).flatten()[:256]


def main():
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 256))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for batch in DataLoader(Squares(float(sys.argv[1])), batch_size=32):
        optimizer.zero_grad()
        (model(batch) - batch).square().mean().backward()
        optimizer.step()


if __name__ == '__main__':
    main()
