#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Convolutions on all CPUs: what a pool of native threads works, forward and backward.

usage: pool_load.py SECONDS

For scripts/validate_accounting, and to see what native samples say of torch."""

import sys
import time

import torch


def forward(model, images):
    return model(images)


def backward(loss):
    loss.backward()


def main():
    end = time.monotonic() + float(sys.argv[1])
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 32, 3), torch.nn.ReLU(), torch.nn.Conv2d(32, 32, 3),
                                torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(32, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    while time.monotonic() < end:
        images, labels = torch.rand(16, 3, 112, 112), torch.randint(10, (16,))
        optimizer.zero_grad()
        backward(torch.nn.functional.cross_entropy(forward(model, images), labels))
        optimizer.step()


if __name__ == "__main__":
    main()
