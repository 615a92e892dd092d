# SPDX-License-Identifier: MIT
"""The training loops of the programs whose loop is not what they show, timed by OwnClock."""
import numpy
import torch

from own_clock import OwnClock


def classifier(convolution, pool, features, classes=10):
    """One convolution, pooled to so many features, and a linear layer; with its optimizer."""
    model = torch.nn.Sequential(convolution, torch.nn.ReLU(), pool, torch.nn.Flatten(),
                                torch.nn.Linear(features, classes))
    return model, torch.optim.SGD(model.parameters(), 0.01)


def on_rows(*layers):
    """Of 256 numbers; with its optimizer."""
    model = torch.nn.Sequential(*layers)
    return model, torch.optim.SGD(model.parameters(), 1e-3)


def sorted_rows(random):
    """64 rows, of many more that are sorted."""
    return numpy.sort(random.standard_normal((1536, 1024), "f4"))[:64, :256].copy()


def update(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def train_by(batch, model, optimizer):
    """On what batch() gives in each step, for OwnClock's time."""
    clock = OwnClock()
    for _ in clock.steps():
        with clock.during("data"):
            inputs = batch()
        update(optimizer, model(inputs).square().mean())
    clock.print()


def train(loader, model, optimizer, epochs):
    clock = OwnClock()
    for _ in range(epochs):
        for inputs, labels in clock.batches(loader):
            update(optimizer, torch.nn.functional.cross_entropy(model(inputs), torch.as_tensor(labels)))
    clock.print()
