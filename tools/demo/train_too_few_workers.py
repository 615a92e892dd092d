#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trains a light head on heavily augmented images with one worker, which cannot keep up while half
of the machine idles. `--workers 2` is the fix."""
import torch
from torchvision import datasets, transforms

from model import small_cnn
from training import arguments, train


def main():
    args = arguments(__doc__, epochs=5, batch_size=16, workers=1).parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(1)
    augment = transforms.Compose([
        transforms.Resize(256), transforms.RandomCrop(192), transforms.RandomRotation(15),
        transforms.ColorJitter(0.4, 0.4, 0.4, 0.1), transforms.Resize(64),
        transforms.ToTensor()])
    data = datasets.ImageFolder(args.data, augment)
    loader = torch.utils.data.DataLoader(data, batch_size=args.batch_size, shuffle=True,
                                         num_workers=args.workers,
                                         persistent_workers=args.workers > 0)
    model = small_cnn(width=8)
    train(loader, model, args.epochs)


if __name__ == '__main__':
    main()
