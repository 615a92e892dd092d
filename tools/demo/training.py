# SPDX-License-Identifier: MIT
"""The training loop of the demo programs whose fault is in their loading."""
import argparse

import torch

from stopwatch import Stopwatch


def arguments(description, epochs, batch_size, workers):
    """The options that all of them have, with their defaults; the folder of images too."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument('--data', default='demo-data/images')
    parser.add_argument('--epochs', type=int, default=epochs)
    parser.add_argument('--batch-size', type=int, default=batch_size)
    parser.add_argument('--workers', type=int, default=workers)
    return parser


def train(loader, model, epochs):
    optimizer = torch.optim.Adam(model.parameters())
    loss_of = torch.nn.CrossEntropyLoss()
    watch = Stopwatch()
    for epoch in range(epochs):
        for inputs, labels in watch.batches(loader):
            optimizer.zero_grad()
            loss = loss_of(model(inputs), labels)
            loss.backward()
            optimizer.step()
        print('epoch %d  loss %.3f' % (epoch, loss.item()))
    watch.print()
