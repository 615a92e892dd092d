# SPDX-License-Identifier: MIT
"""A recurrent cell written out gate by gate, one time step and one small operator after the other; beside it a
dense part. Without it: one layer over all time steps at once."""
import torch

from corpus import has, level
from corpus_torch import perceptron, train_on_random

CAUSES = {"operators": ("compute", ["compute.small_ops", "compute.python_overhead"])}
TIME, UNITS = level(6, 20, 100), 16


class ByHand(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gates = torch.nn.ModuleList(torch.nn.Linear(2 * UNITS, UNITS) for _ in range(3))

    def forward(self, inputs):
        state = torch.zeros(inputs.shape[1], UNITS)
        for value in inputs:
            both = torch.cat([value, state], 1)
            update, reset = torch.sigmoid(self.gates[0](both)), torch.sigmoid(self.gates[1](both))
            fresh = torch.tanh(self.gates[2](torch.cat([value, reset * state], 1)))
            state = update * state + (1 - update) * fresh
        return state


class Averaged(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(UNITS, UNITS)

    def forward(self, inputs):
        return torch.tanh(self.layer(inputs)).mean(0)


def main():
    dense = perceptron(512, 360)
    cell = ByHand() if has("operators") else Averaged()
    model = torch.nn.ModuleList([dense, cell])

    def learn(model, batch):
        series = batch[0].reshape(-1)[:TIME * UNITS].reshape(TIME, 1, UNITS).expand(TIME, 32, UNITS)
        return torch.nn.functional.cross_entropy(dense(batch[0]), batch[1]) + cell(series).square().mean()

    train_on_random(model, 512, learn=learn)


if __name__ == "__main__":
    main()
