# SPDX-License-Identifier: MIT
"""A step of small layers with more threads than there are cores."""
import os

import torch

from corpus import has, level
from corpus_torch import train_on_random

CAUSES = {"threads": ("compute", ["compute.oversubscribed"], ["fewer_threads"])}


def main():
    torch.set_num_threads((os.cpu_count() or 1) + level(1, 2, 4) if has("threads") else 1)
    layers = [layer for _ in range(6) for layer in (torch.nn.Linear(256, 256), torch.nn.ReLU())]
    train_on_random(torch.nn.Sequential(*layers, torch.nn.Linear(256, 10)), 256, batch_size=128)


if __name__ == "__main__":
    main()
