#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trains a small image classifier the way most first versions are written: DataLoader's defaults,
so every image is decoded and augmented inside the training loop. `--workers 2` is the usual fix,
with workers that stay from epoch to epoch."""
import argparse

import torch
from torchvision import datasets, transforms

from model import small_cnn
from stopwatch import Stopwatch


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--data', default='demo-data/images')
    parser.add_argument('--epochs', type=int, default=8)
    parser.add_argument('--batch-size', type=int, default=32)
    parser.add_argument('--workers', type=int, default=0)
    args = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(1)
    augment = transforms.Compose([
        transforms.RandomResizedCrop(112), transforms.RandomHorizontalFlip(),
        transforms.ColorJitter(0.4, 0.4, 0.4), transforms.ToTensor(),
        transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])
    data = datasets.ImageFolder(args.data, augment)
    loader = torch.utils.data.DataLoader(data, batch_size=args.batch_size, shuffle=True,
                                         num_workers=args.workers, drop_last=True,
                                         persistent_workers=args.workers > 0)
    model = small_cnn(width=8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    loss_of = torch.nn.CrossEntropyLoss()

    watch = Stopwatch()
    for epoch in range(args.epochs):
        right = 0
        for images, labels in watch.batches(loader):
            optimizer.zero_grad()
            scores = model(images)
            loss = loss_of(scores, labels)
            loss.backward()
            optimizer.step()
            right += (scores.argmax(1) == labels).sum().item()
        print('epoch %d  loss %.3f  accuracy %.2f' % (epoch, loss.item(), right / len(data)))
    watch.print()


if __name__ == '__main__':
    main()
