#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trains a bigram model of letters on batches of 32 names, with four workers as a public trainer of such
models has by default: a batch takes a third of a millisecond to make, and longer to send. `--workers 0` is
the fix."""
import argparse

import torch

from training import train

LENGTH = 16


class Names(torch.utils.data.Dataset):
    """Made-up names; each is letters by number, and the same shifted by one for what follows."""

    def __init__(self, count=32000):
        self.names = [''.join(chr(97 + (i * 7 + j * 3) % 26) for j in range(3 + i % 9)) for i in range(count)]

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        letters = torch.tensor([ord(letter) - 96 for letter in self.names[index]])
        inputs, targets = torch.zeros(LENGTH, dtype=torch.long), torch.zeros(LENGTH, dtype=torch.long)
        inputs[1:1 + len(letters)] = letters
        targets[:len(letters)] = letters
        targets[len(letters) + 1:] = -100   # what cross_entropy leaves out
        return inputs, targets


class Bigram(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(27, 27)

    def forward(self, inputs):
        return self.table(inputs).transpose(1, 2)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--batch-size', type=int, default=32)
    parser.add_argument('--epochs', type=int, default=10)
    parser.add_argument('--workers', type=int, default=4)
    args = parser.parse_args()

    torch.manual_seed(1)
    loader = torch.utils.data.DataLoader(Names(), batch_size=args.batch_size, shuffle=True,
                                         num_workers=args.workers)
    train(loader, Bigram(), args.epochs)


if __name__ == '__main__':
    main()
