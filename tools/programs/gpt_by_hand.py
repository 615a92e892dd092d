# SPDX-License-Identifier: MIT
"""A small transformer on random tokens, batches cut in the loop, and as in nanoGPT an evaluation by hand
every so many steps."""
import numpy
import torch
from torch import nn

from own_clock import WITHOUT, OwnClock

EVERY, BATCHES, LENGTH = 40, 40, 32


class Network(nn.Module):
    def __init__(self, width=32, words=64):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.blocks = nn.ModuleList([nn.TransformerEncoderLayer(width, 4, 4 * width, batch_first=True) for _ in range(2)])
        self.out = nn.Linear(width, words)

    def forward(self, inputs, targets):
        hidden = self.words(inputs)
        for block in self.blocks:
            hidden = block(hidden)
        return nn.functional.cross_entropy(self.out(hidden).flatten(0, 1), targets.flatten())


def cut(tokens, count=8):
    starts = torch.randint(len(tokens) - LENGTH - 1, (count,))
    return (torch.stack([torch.from_numpy(tokens[i:i + LENGTH]) for i in starts]),
            torch.stack([torch.from_numpy(tokens[i + 1:i + 1 + LENGTH]) for i in starts]))


@torch.no_grad()
def estimate_loss(model, tokens):
    model.eval()
    losses = torch.zeros(BATCHES)
    for i in range(BATCHES):
        losses[i] = model(*cut(tokens))
    model.train()
    return losses.mean()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    tokens = numpy.random.default_rng(1).integers(0, 64, 400_000).astype("i8")
    model = Network()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    clock = OwnClock()
    for step in clock.steps():
        if step % EVERY == 0 and not WITHOUT:
            with clock.during("periodic"):
                estimate_loss(model, tokens)
        with clock.during("data"):
            inputs, targets = cut(tokens)
        loss = model(inputs, targets)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    clock.print()


if __name__ == "__main__":
    main()
