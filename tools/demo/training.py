# SPDX-License-Identifier: MIT
"""The training loop of the demo programs whose fault is in their loading."""
import torch

from stopwatch import Stopwatch


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
