# SPDX-License-Identifier: MIT
"""A loss that visits every element of its output in Python, an operator at a time."""
import torch

from own_clock import WITHOUT, OwnClock
from torch_training import update


def weighted(outputs, targets):
    if WITHOUT:
        return ((outputs - targets).abs() * (1 + targets.abs())).mean()
    total = 0
    for i in range(outputs.shape[0]):
        for j in range(outputs.shape[1]):
            total = total + abs(outputs[i, j] - targets[i, j]) * (1 + abs(targets[i, j].item()))
    return total / outputs.numel()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    every_input, every_target = torch.randn(4096, 64), torch.randn(4096, 16)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 16))
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    clock = OwnClock()
    for _ in clock.steps():
        with clock.during("data"):
            chosen = torch.randint(0, 4096, (64,))
            inputs, targets = every_input[chosen], every_target[chosen]
        update(optimizer, weighted(model(inputs), targets))
    clock.print()


if __name__ == "__main__":
    main()
