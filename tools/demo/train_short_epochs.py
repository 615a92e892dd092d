#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trains in short epochs with workers started by `spawn`, as a program with CUDA or threads must:
each epoch starts its workers again, and every one imports torch again before its first batch.
`--persistent` is the fix."""
import torch
from torchvision import datasets, transforms

from model import small_cnn
from training import arguments, train


def main():
    parser = arguments(__doc__, epochs=10, batch_size=20, workers=1)
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
