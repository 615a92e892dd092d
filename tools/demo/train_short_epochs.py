#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trains in short epochs with workers started by `spawn`, as a program with CUDA or threads must:
each epoch starts its workers again, and every one imports torch again before its first batch.
`--persistent` is the fix."""
import argparse

import torch
from torchvision import datasets, transforms

from model import small_cnn
from training import train


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--data', default='demo-data/images')
    parser.add_argument('--epochs', type=int, default=10)
    parser.add_argument('--batch-size', type=int, default=20)
    parser.add_argument('--workers', type=int, default=1)
    parser.add_argument('--persistent', action='store_true')
    args = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(1)
    shrink = transforms.Compose([
        transforms.Resize(96), transforms.CenterCrop(96), transforms.ToTensor()])
    data = torch.utils.data.Subset(datasets.ImageFolder(args.data, shrink), range(400))
    loader = torch.utils.data.DataLoader(data, batch_size=args.batch_size, shuffle=True,
                                         num_workers=args.workers,
                                         multiprocessing_context='spawn',
                                         persistent_workers=args.persistent)
    model = small_cnn(width=16)
    train(loader, model, args.epochs)


if __name__ == '__main__':
    main()
